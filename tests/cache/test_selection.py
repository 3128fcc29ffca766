"""Selection of an informer."""

from typing import Any

import pytest

from clientgo.cache import SharedInformer
from clientgo.cache.selection import selection_of
from clientgo.kubernetes.types.batch_v1 import Job
from clientgo.kubernetes.types.core_v1 import ConfigMap, Event, Node, Pod
from clientgo.meta import ObjectMeta, replace
from clientgo.meta.listwatch import ListOptions
from clientgo.testing.watchsource import FakeSource


@pytest.mark.parametrize(
    ("kind", "fields", "content", "selected"),
    [
        (Pod, "spec.nodeName=n", {"spec": {"nodeName": "n"}}, True),
        (Pod, "spec.nodeName=n", {"spec": {}}, False),
        (Pod, "spec.nodeName!=n", {}, True),
        (Pod, "spec.nodeName=n,status.phase=Running", {"spec": {"nodeName": "n"}, "status": {"phase": "Failed"}},
         False),
        (Pod, "spec.hostNetwork=false", {"spec": {}}, True),
        (Pod, "spec.hostNetwork=true", {"spec": {"hostNetwork": True}}, True),
        (Node, "spec.unschedulable=false", {"spec": {}}, True),
        (Event, "source=kubelet", {"source": {"component": "kubelet"}}, True),
        (Job, "status.successful=0", {"status": {}}, True),
        (Job, "status.successful=2", {"status": {"succeeded": 2}}, True),
        (ConfigMap, "metadata.name=a", {"metadata": {"name": "a"}}, True),
    ],
)  # fmt: skip
def test_fields_select_as_on_a_server(kind: type, fields: str, content: dict[str, Any], selected: bool) -> None:
    assert selection_of(kind, [""], "", fields).matches(ObjectMeta(name="a"), lambda: content) is selected


def test_selection_of_an_informer_is_that_of_its_requests() -> None:
    def tweak(options: ListOptions) -> ListOptions:
        return replace(options, label_selector="app=a")

    sources = {name: FakeSource(ConfigMap) for name in ("one", "two")}
    selection = SharedInformer(sources, tweak=tweak).selection()
    meta = ObjectMeta(name="a", namespace="one", labels={"app": "a"})
    assert selection.filters
    assert selection.matches(meta, dict)
    assert not selection.matches(replace(meta, namespace="three"), dict)
    assert not selection.matches(replace(meta, labels={}), dict)
    everything = SharedInformer(FakeSource(ConfigMap)).selection()
    assert not everything.filters
    assert everything.matches(meta, dict)
