"""Correct operators that leave the children of a paused object, and those of an input that is unusable now."""

from typing import Any

import pytest

from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.manager import ControllerBuilder, Reconciler, create_or_update, set_owner_reference
from clientgo.meta import ObjectMeta, ObjectName, meta_for, object_name, replace
from clientgo.perturb import create, perturb
from clientgo.perturb.differences import StateDifference, differences
from clientgo.perturb.kinds.derived import is_empty_struct
from clientgo.perturb.state import ObjectRef
from tests.perturb.greetings import Correct, Greeting, GreetingStatus, greeting

TEMPLATE = ConfigMap(metadata=ObjectMeta(name="template", namespace="default"), data={"text": "on"})


class Pauses(Correct, name="pauses"):
    """Leaves a greeting alone while it is marked, beside one that is not, and reports the pause in its status."""

    def reconcile(self, greeting: Greeting) -> None:
        if greeting.metadata.annotations.get("example.com/paused") != "true":
            super().reconcile(greeting)
        elif greeting.status.observed_generation != -1:
            self.client.update_status(replace(greeting, status=replace(greeting.status, observed_generation=-1)))


class Forgets(Pauses, name="forgets"):
    """Carries nothing out that was changed during a pause."""

    def reconcile(self, greeting: Greeting) -> None:
        if (
            greeting.metadata.annotations.get("example.com/paused") == "true"
            or greeting.status.observed_generation != -1
        ):
            super().reconcile(greeting)


@pytest.mark.parametrize(("operator", "count"), [(Pauses, 0), (Forgets, 1)])
def test_child_of_a_paused_object_stays_and_a_change_in_the_pause_is_carried_out(operator: type, count: int) -> None:
    steps = [create(greeting()), create(greeting(name="b"))]
    plan = "metadata:greetings.greetings.example.com:default/a:metadata.example.com/paused#1"
    assert len(perturb(operator, steps, plans=["reference", plan]).failed) == count


class Instantiates(Reconciler[Greeting], owns=[Greeting, ConfigMap], name="instantiates"):
    """Creates a greeting for each other one, and for that a ConfigMap once, from a template that must be `on`."""

    def setup(self, builder: ControllerBuilder) -> None:
        builder.watches(ConfigMap, lambda _: [object_name(each) for each in self.client.list(Greeting)])

    def reconcile(self, greeting: Greeting) -> None:
        if not greeting.metadata.owner_references:
            self.client.apply(Greeting(metadata=replace(meta_for(greeting), name="child")), owner=greeting)
        elif self.client.find(ConfigMap, object_name(greeting)) is None:
            text = self.client.get(ConfigMap, ObjectName("default", "template")).data["text"]
            status = "" if text == "on" else "invalid template"
            if not status:
                self.client.create(ConfigMap(metadata=meta_for(greeting), data={"text": text}), owner=greeting)
            if greeting.status.text != status:
                self.client.update_status(replace(greeting, status=GreetingStatus(text=status)))


def test_input_that_cannot_be_used_undoes_nothing() -> None:
    plan = "dependency:configmaps:default/template:data.text"
    perturb(Instantiates, [create(TEMPLATE), create(greeting())], plans=["reference", plan]).check()


class Joins(Reconciler[Greeting], owns=[ConfigMap], name="joins"):
    """Adds itself to the owners of the ConfigMap of its name, and holds its deletion."""

    def reconcile(self, greeting: Greeting) -> None:
        def joined(config: ConfigMap) -> ConfigMap:
            held = replace(config, metadata=replace(config.metadata, finalizers=["example.com/held"]))
            return set_owner_reference(greeting, held)

        create_or_update(self.client, ConfigMap(metadata=meta_for(greeting)), joined)


def test_object_is_taken_over_by_an_owner_that_holds_its_deletion() -> None:
    [result] = perturb(Joins, [create(greeting())], plans=["reference", "foreign:configmaps:default/a"]).failed
    assert [each.oracle for each in result.findings] == ["foreign"]


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"properties": {"limits": {"type": "object"}}}, True),
        ({"properties": {"limits": {"type": "object"}}, "required": ["limits"]}, False),
        ({}, False),
    ],
    ids=["optional", "required", "without fields"],
)
def test_empty_struct_of_optional_fields_is_as_good_as_absent(schema: dict[str, Any], expected: bool) -> None:
    spec = {"type": "object", "properties": {"parts": {"type": "array", "items": {"properties": {"limits": schema}}}}}
    version = {"name": "v1", "schema": {"openAPIV3Schema": {"properties": {"spec": spec}}}}
    definition = {"spec": {"group": "example.com", "names": {"plural": "tasks"}, "versions": [version]}}
    [difference] = differences({"spec": {"parts": [{"limits": {}}]}}, {"spec": {"parts": [{}]}})
    changed = StateDifference(ObjectRef("tasks.example.com", "default", "a"), *difference)
    assert is_empty_struct(changed, [definition]) is expected
