"""Changes of the user in objects of the operator, and parts of the operator in objects of the user."""

import pytest

pytest.importorskip("clientgo_apiserver")

from clientgo.kubernetes.applyconfigurations.core_v1 import ConfigMapApplyConfiguration
from clientgo.kubernetes.types.batch_v1 import Job, JobSpec
from clientgo.kubernetes.types.core_v1 import ConfigMap, Container, Namespace, PodSpec
from clientgo.kubernetes.types.pods import PodTemplateSpec
from clientgo.manager import ControllerBuilder, Reconciler
from clientgo.meta import ObjectMeta, ObjectName, meta_for, object_name, replace
from clientgo.meta.applyconfiguration import ObjectMetaApplyConfiguration
from clientgo.perturb import ScenarioRun, change, create, perturb
from clientgo.perturb.kinds.userobjects import edits, user_objects
from clientgo.perturb.state import ClusterState, Object, ObjectChange, ObjectRef
from tests.perturb.bench.kinds import Site, SiteSpec

TEAM = Namespace(metadata=ObjectMeta(name="team"))
SITE = Site(ObjectMeta(name="a", namespace="team"), SiteSpec("v1", content={"x": "", "y": ""}))
CHILD = ConfigMap(metadata=ObjectMeta(name="a", namespace="team"))
SHARED = ConfigMap(metadata=ObjectMeta(name="shared", namespace="team"), data={"mine": "1"})
REF = ObjectRef("configmaps", "team", "a")


class Limits(Reconciler[Site], owns=[ConfigMap], name="limits"):
    """Keeps a 0 for each key of the content in a ConfigMap, in which users may raise it."""

    def reconcile(self, site: Site) -> None:
        child = self.client.find(ConfigMap, object_name(site))
        if child is None:
            data = dict.fromkeys(site.spec.content, "0")
            child = self.client.create(ConfigMap(metadata=meta_for(site), data=data), owner=site)
        data = {key: child.data.get(key, "0") for key in site.spec.content}
        data |= {key: value for key, value in child.data.items() if value != "0"}
        if data != child.data:
            self.client.patch_to(child, replace(child, data=data))


class Adds(Reconciler[Site], name="adds"):
    """Adds the content to the ConfigMap `shared` of the user, and takes away what is not in it any more."""

    def setup(self, builder: ControllerBuilder) -> None:
        builder.watches(ConfigMap, lambda _: [object_name(each) for each in self.client.list(Site)])

    def reconcile(self, site: Site) -> None:
        if self.client.find(ConfigMap, ObjectName("team", "shared")) is not None:
            meta = ObjectMetaApplyConfiguration(name="shared", namespace="team")
            self.client.apply_configuration(ConfigMapApplyConfiguration(metadata=meta, data=dict(site.spec.content)))


def test_user_s_changes_of_a_child_are_repeated_where_it_is_created_afresh() -> None:
    steps = [create(TEAM), create(SITE), change(CHILD, {"data": {"x": "500"}})]
    perturb(Limits, steps, only=["transition", "dependency", "metadata"]).check()


def test_what_the_operator_added_to_the_user_s_object_is_the_operator_s_after_a_change() -> None:
    steps = [
        create(TEAM), create(SHARED), create(SITE), change(SHARED, {"data": {"mine": "2"}}),
        change(SITE, {"spec": {"content": {"y": None, "z": "1"}}}),
    ]  # fmt: skip
    perturb(Adds, steps, only=["transition", "dependency"]).check()


def _run(*changes: tuple[str, Object | None, Object]) -> ScenarioRun:
    run = ScenarioRun(["step"], states=[ClusterState({REF: changes[-1][2]})])
    for actor, old, new in changes:
        kind = "ADDED" if old is None else "MODIFIED"
        run.changes.append(ObjectChange(1, kind, REF, old, new, actor, 0, 0.0, is_blind=False))
    return run


def _object(**fields: object) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "a", "namespace": "team", "uid": "1"},
        **fields,
    }


@pytest.mark.parametrize(
    ("created", "by_operator", "by_user", "content"),
    [
        ({"x": "1"}, {"x": "1", "o": "1"}, {"x": "2", "o": "1"}, {"x": "2"}),
        ({"x": "1"}, {"x": "1", "o": "1"}, {"o": "1"}, {}),
        ({"x": "1"}, {"x": "1", "o": "1"}, {"x": "1", "o": "2"}, {"x": "1", "o": "2"}),
        ({"x": ["1"]}, {"x": ["1", "o"]}, {"x": ["1", "o", "2"]}, {"x": ["1", "2"]}),
        ({"x": ["1"]}, {"x": ["1", "o"]}, {"x": ["o"]}, {"x": []}),
        ({}, {"x": {"o": "1"}}, {"x": {"o": "1", "u": "1"}}, {"x": {"u": "1"}}),
    ],
)
def test_content_of_the_user_has_only_the_user_s_changes(
    created: Object, by_operator: Object, by_user: Object, content: Object
) -> None:
    first, second, third = (_object(data=data) for data in (created, by_operator, by_user))
    run = _run(("user", None, first), ("operator", first, second), ("user", second, third))
    assert user_objects(run)[REF].content["data"] == content
    assert list(edits(run)) == []  # of a user's object


def test_edit_of_an_object_that_was_deleted_since_is_not_repeated() -> None:
    before, after = _object(data={"x": "1"}), _object(data={"x": "2"}, status={"y": "3"})
    run = _run(("operator", None, before), ("user", before, after))
    assert [step.name for step in edits(run)] == ["change configmaps team/a"] * 2
    run.states[0] = ClusterState({REF: {**after, "metadata": {**after["metadata"], "uid": "2"}}})
    assert list(edits(run)) == []


class Runs(Reconciler[Site], owns=[Job], name="runs"):
    """Keeps a suspended Job with the site's image."""

    def reconcile(self, site: Site) -> None:
        if self.client.find(Job, object_name(site)) is None:
            pod = PodSpec(containers=(Container(name="job", image=site.spec.image),), restart_policy="Never")
            spec = JobSpec(suspend=True, template=PodTemplateSpec(spec=pod))
            self.client.create(Job(metadata=meta_for(site), spec=spec), owner=site)


def test_user_s_status_of_a_child_is_repeated_where_its_namespace_is_created_again() -> None:
    succeeded = change(Job(metadata=CHILD.metadata), {"status": {"active": 1}}, subresource="status")
    steps = [create(TEAM), create(SITE), succeeded]
    perturb(Runs, steps, plans=["reference", "dependency:namespaces:team:deleted"]).check()


class Tenants(Reconciler[Site], finalizer="bench.example.com/tenant", name="tenants"):
    """Keeps a namespace with the site's name; a site may be in the namespace of another one."""

    def setup(self, builder: ControllerBuilder) -> None:
        builder.watches(Namespace, lambda namespace: self.sites(namespace.metadata))

    def sites(self, meta: ObjectMeta) -> list[ObjectName]:
        return [ObjectName(parent, meta.name) for key, parent in meta.labels.items() if key == "parent"]

    def reconcile(self, site: Site) -> None:
        name = ObjectName("", site.metadata.name)
        if self.client.find(Namespace, name) is None and self.client.still_exists(site):
            meta = ObjectMeta(name=name.name, labels={"parent": site.metadata.namespace})
            self.client.create(Namespace(metadata=meta))

    def finalize(self, site: Site) -> None:
        namespace = self.client.api_reader.find(Namespace, ObjectName("", site.metadata.name))
        if namespace is not None and namespace.metadata.labels.get("parent") == site.metadata.namespace:
            self.client.delete(namespace, missing_ok=True)


class Marks(Reconciler[Site], name="marks"):
    """Marks the site's namespace as long as that is active."""

    def setup(self, builder: ControllerBuilder) -> None:
        builder.watches(Namespace, lambda _: [object_name(each) for each in self.client.list(Site)])

    def reconcile(self, site: Site) -> None:
        namespace = self.client.find(Namespace, ObjectName("", site.metadata.namespace))
        if namespace is not None and namespace.metadata.labels.get("active") == "yes":
            labels = {**namespace.metadata.labels, "seen": "yes"}
            self.client.patch_to(namespace, replace(namespace, metadata=replace(namespace.metadata, labels=labels)))


def test_label_that_the_server_restores_shows_nothing() -> None:
    team = replace(TEAM, metadata=replace(TEAM.metadata, labels={"active": "yes"}))
    deactivated = change(team, {"metadata": {"labels": {"active": None}}})
    steps = [create(team), create(SITE), deactivated, change(team, {"metadata": {"labels": {"active": "yes"}}})]
    results = perturb(Marks, steps, only=["metadata"])
    restored = [each for each in results if "kubernetes.io/metadata.name#" in str(each.plan)]
    assert [each.run.not_applicable for each in restored] == ["the change has no effect"] * 2
    assert any("labels.active" in str(each.plan) and each.is_applicable for each in results)


def test_objects_in_namespaces_of_the_operator_that_go_with_a_namespace_are_created_again() -> None:
    sub, leaf = ObjectMeta(name="sub", namespace="team"), ObjectMeta(name="leaf", namespace="sub")
    inside = replace(SHARED, metadata=ObjectMeta(name="shared", namespace="leaf"))
    steps = [create(TEAM), *(create(replace(SITE, metadata=each)) for each in (sub, leaf)), create(inside)]
    results = perturb(Tenants, steps, plans=["reference", "dependency:namespaces:team:deleted"])
    results.check()
    before, after = (result.run.states[-1] for result in results)
    assert set(before) == set(after), "the plan is not applicable"


def test_namespace_is_late_with_what_is_in_it() -> None:
    inside = replace(SHARED, metadata=ObjectMeta(name="inside", namespace="late"))
    late = Namespace(metadata=ObjectMeta(name="late"))
    steps = [
        create(TEAM),
        create(late, inside),
        create(SITE),
        change(inside, {"data": {"mine": "2"}}),
        change(SITE, {}),
    ]
    plan = "dependency:namespaces:late:late"
    [result] = perturb(Marks, steps, plans=[plan])
    assert result.verdict == f"{plan}: ok"
