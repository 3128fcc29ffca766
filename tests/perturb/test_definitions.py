"""Definitions of a scenario: those derived from classes, and the version that the server stores."""

from typing import Any

import pytest

pytest.importorskip("clientgo_apiserver")

from clientgo.codegen.crd.manifest import open_definition
from clientgo.dynamic import Unstructured
from clientgo.errors import ConfigError
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.manager import ControllerBuilder, Manager, Reconciler
from clientgo.meta import ObjectMeta, api_type, meta_for, object_name
from clientgo.meta.codec import to_dict
from clientgo.meta.scheme import api_of
from clientgo.perturb import create, perturb
from clientgo.perturb.scenario import definitions_of
from tests.codegen.kinds import shelf_v1, shelf_v1beta1
from tests.codegen.kinds.shelf_v1 import Shelf
from tests.codegen.kinds.shelf_v1beta1 import Shelf as OlderShelf
from tests.perturb.greetings import Correct, Greeting, greeting

META = ObjectMeta(name="a", namespace="default")
NEWER = Shelf(META, shelf_v1.ShelfSpec(topic="art"))
OLDER = OlderShelf(META, shelf_v1beta1.ShelfSpec())
[BOTH_VERSIONS] = definitions_of(None, [Shelf, OlderShelf])


@pytest.mark.parametrize(
    ("classes", "stored"), [([Shelf], "v1"), ([OlderShelf], "v1beta1"), ([Shelf, OlderShelf], "v1")]
)
def test_one_of_the_versions_in_use_is_stored(classes: list[type], stored: str) -> None:
    [crd] = definitions_of(None, classes)
    assert stored_version(crd) == stored
    assert len(crd["spec"]["versions"]) == len(classes)


def stored_version(crd: dict[str, Any]) -> str:
    [name] = [version["name"] for version in crd["spec"]["versions"] if version["storage"]]
    return str(name)


@pytest.mark.parametrize(("obj", "stored"), [(NEWER, "v1"), (OLDER, "v1beta1"), (to_dict(OLDER), "v1beta1")])
def test_version_that_the_steps_create_is_stored_and_not_converted(obj: object, stored: str) -> None:
    [crd] = definitions_of(None, [BOTH_VERSIONS], [create(obj)])
    assert stored_version(crd) == stored
    assert "conversion" not in crd["spec"]
    assert BOTH_VERSIONS["spec"]["conversion"]["strategy"] == "Webhook"


class Topics(Reconciler[Shelf], owns=[ConfigMap], name="topics"):
    """Keeps a ConfigMap with the topic, which the older version does not have."""

    def reconcile(self, shelf: Shelf) -> None:
        self.client.apply(ConfigMap(metadata=meta_for(shelf), data={"topic": shelf.spec.topic}), owner=shelf)


def test_object_has_what_only_a_version_has_that_the_definition_does_not_store() -> None:
    older = {**BOTH_VERSIONS["spec"], "conversion": {"strategy": "None"}}
    older["versions"] = [{**each, "storage": each["name"] == "v1beta1"} for each in older["versions"]]
    [result] = perturb(Topics, [create(NEWER)], crds=[{**BOTH_VERSIONS, "spec": older}], plans=["reference"])
    assert result.verdict == "reference: ok"
    assert result.run.states[-1].all("configmaps")[-1]["data"] == {"topic": "art"}


def test_reconcilers_of_several_kinds_can_be_in_a_variable() -> None:
    """Type checkers take such a list as one of classes of any kind."""
    reconcilers = [Topics, Correct]
    for each in (reconcilers, tuple(reconcilers)):
        [result] = perturb(each, [create(greeting())], crds=[Shelf], plans=["reference"])
        assert result.verdict == "reference: ok"


def test_versions_of_scenario_and_operator_that_only_a_webhook_converts_are_rejected() -> None:
    with pytest.raises(
        ConfigError, match=r"use v1 and v1beta1 of shelves\.library\.example\.com.* calls no conversion"
    ):
        perturb(Topics, [create(OLDER)], crds=[BOTH_VERSIONS])


def test_object_that_the_operator_cannot_read_is_no_scenario_without_writes() -> None:
    wrong = {**to_dict(NEWER), "spec": {"boards": "many"}}
    [result] = perturb(Topics, [create(wrong)], crds=[open_definition([api_of(Shelf)])])
    assert not result.passed
    assert "the operator writes nothing, and logs an error: Shelf default/a  object skipped" in result.verdict
    assert "boards" in result.verdict


@api_type(group="greetings.example.com", version="v1", status=False)
class Reply(Unstructured, frozen=True, kw_only=True):
    """Kind of others, of which no definition is at hand."""


class Replies(Correct, owns=[], name="replies"):
    """Creates a reply to each greeting, of a kind that is not declared."""

    def setup(self, builder: ControllerBuilder) -> None:
        builder.watches(Reply, lambda reply: [object_name(reply)])

    def reconcile(self, greeting: Greeting) -> None:
        content = {"spec": {"text": greeting.spec.text}}
        self.client.apply(Reply(metadata=meta_for(greeting), content=content), owner=greeting)


def start_replies(manager: Manager) -> None:
    manager.add_reconciler(Replies)


def test_class_without_a_schema_is_served_with_any_content() -> None:
    [result] = perturb(start_replies, [create(greeting())], crds=[Reply, ConfigMap], plans=["reference"])
    assert result.verdict == "reference: ok"
    assert [reply["spec"] for reply in result.run.states[-1].all("replies.greetings.example.com")] == [
        {"text": "hello"}
    ]


def test_file_has_precedence_over_a_class_without_a_schema() -> None:
    [crd] = definitions_of(None, [Reply])
    limited = {**crd, "spec": {**crd["spec"], "scope": "Cluster"}}
    assert definitions_of(None, [Reply, limited]) == [limited]


def test_class_that_is_no_kind_is_rejected() -> None:
    with pytest.raises(ConfigError, match="int is not an API kind"):
        perturb(Correct, [create(greeting())], crds=[int])
