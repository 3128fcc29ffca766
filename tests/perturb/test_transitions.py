"""Transitions: other values of a spec by its schema, and controllers that apply a field only once."""

import secrets
from dataclasses import dataclass, field
from typing import Any

import pytest

from clientgo.kubernetes.types.apps_v1 import Deployment
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.manager import ControllerBuilder, Reconciler
from clientgo.meta import ObjectMeta, api_type, meta_for, object_name, replace
from clientgo.perturb import change, create, perturb
from clientgo.perturb.values import ABSENT, alternatives, pairs, references, sample
from tests.perturb.greetings import Correct, Greeting, GreetingSpec, greeting
from tests.workloads import deployment


def changed(schema: dict[str, Any], value: Any) -> list[Any]:
    wrapped = {"type": "object", "properties": {"a": schema}}
    spec = {} if value is None else {"a": value}
    return [alternative.spec.get("a", ABSENT) for alternative in alternatives(wrapped, spec, {})]


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        ({"type": "string", "enum": ["x", "y", "z"]}, "x", [ABSENT, "y", "z"]),
        ({"type": "integer", "minimum": 1, "maximum": 5}, 2, [ABSENT, 3, 1, 5]),
        ({"type": "boolean"}, True, [ABSENT, False]),
        ({"type": "boolean", "default": True}, True, [False]),
        ({"type": "string"}, None, ["a"]),
        ({"type": "array", "items": {"type": "string"}}, ["p", "q"],
         [ABSENT, ["p"], ["p", "q", "qb"], ["qb", "p", "q"], ["p", "q", "p"], ["q", "p"], ["q"], ["p-b", "q"],
          ["p", "q-b"]]),
        ({"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"}, ["p"],
         [ABSENT, [], ["p", "pb"], ["pb", "p"], ["p-b"]]),
        ({"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 1}, ["p"], [ABSENT, ["p-b"]]),
        ({"type": "array", "items": {"type": "object", "properties": {"n": {"type": "array"}}}}, [{"n": ["x"]}],
         [ABSENT, [], [{"n": ["x"]}, {"n": ["xb"]}], [{"n": ["xb"]}, {"n": ["x"]}], [{}], [{"n": []}],
          [{"n": ["x", "xb"]}], [{"n": ["xb", "x"]}], [{"n": ["x", "x"]}], [{"n": ["x-b"]}]]),
        ({"type": "array", "items": {"type": "string"}}, None, [["ab", "a"]]),
        ({"type": "object", "additionalProperties": {"type": "string"}}, {"k": "v"},
         [ABSENT, {}, {"k": "v-b"}, {"k": "v", "added": "a"}]),
        ({"type": "object", "additionalProperties": {"type": "string"}}, None, [{"added": "a"}]),
    ],
    ids=["enum", "bounds", "boolean", "default", "absent", "list", "set", "list of one", "list of lists",
         "absent list", "map", "absent map"],
)  # fmt: skip
def test_fields_change_to_other_valid_values(schema: dict[str, Any], value: Any, expected: list[Any]) -> None:
    assert changed(schema, value) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("15", "16"), ("1Gi", "2Gi"), ("50%", "51%"), ("1.2.9", "1.2.10"), ("10.0.0.1", "10.0.0.2"),
     ("10.0.0.0/24", "10.0.1.0/24"), ("0 3 * * *", "1 3 * * *"), ("*/5 * * * 1-5", "7 * * * 1-5"), ("v1", "v1-b")],
    ids=["number", "quantity", "share", "version", "address", "network", "schedule", "steps", "word"],
)  # fmt: skip
def test_text_changes_to_one_of_the_same_form(text: str, expected: str) -> None:
    assert changed({"type": "string"}, text) == [ABSENT, expected]


def test_values_of_the_user_come_last_and_two_fields_change_at_once() -> None:
    properties = {"a": {"type": "boolean"}, "b": {"type": "boolean"}}
    schema = {"type": "object", "properties": properties, "required": ["a", "b"]}
    single = alternatives(schema, {"a": True, "b": True}, {"spec.c": ["own"]})
    assert [alternative.label for alternative in single] == ["a#1", "b#1", "c#1"]
    assert [both.spec for both in pairs(single, {"a": True, "b": True})] == [
        {"a": False, "b": False}, {"a": False, "b": True, "c": "own"}, {"a": True, "b": False, "c": "own"},
    ]  # fmt: skip


def test_name_of_an_object_becomes_that_of_another_one() -> None:
    spec = {"source": {"name": "x"}, "target": "z", "text": "w"}
    assert references(spec, [["x", "y"], ["z"]]) == {"source.name": ["y"]}


def test_sample_values_are_valid() -> None:
    number, text = {"type": "integer", "minimum": 3}, {"type": "string", "minLength": 2}
    properties = {"n": number, "s": text, "optional": {"type": "string"}}
    assert sample({"type": "object", "required": ["n", "s"], "properties": properties}) == {"n": 3, "s": "aa"}


class OnlyOnCreation(Reconciler[Greeting], owns=[ConfigMap], name="only-on-creation"):
    """Does not change what exists."""

    def reconcile(self, greeting: Greeting) -> None:
        if self.client.find(ConfigMap, object_name(greeting)) is None:
            config = ConfigMap(metadata=meta_for(greeting), data={"text": greeting.spec.text})
            self.client.create(config, owner=greeting)


def test_field_that_is_applied_only_on_creation_is_found() -> None:
    results = perturb(OnlyOnCreation, [create(greeting())], only=["transition"])
    [first, *_] = results.failed
    assert first.findings[0].oracle == "transition"
    assert "after text = absent the state is not as created" in str(first.findings[0])
    assert perturb(OnlyOnCreation, [create(greeting())], plans=[str(first.plan)]).failed


def test_correct_controller_passes_all_transitions() -> None:
    results = perturb(Correct, [create(greeting())], only=["transition"])
    results.check()
    assert len(results) > 5


@api_type(group="greetings.example.com", version="v1")
@dataclass(frozen=True)
class Word:
    metadata: ObjectMeta = ObjectMeta()
    spec: GreetingSpec = field(default_factory=GreetingSpec)
    status: str = ""


class RejectsCopies(Reconciler[Word], owns=[ConfigMap], name="rejects-copies"):
    """Keeps a ConfigMap, as it was if the spec asks for several copies, and reports that in a status of one word."""

    def reconcile(self, word: Word) -> None:
        status = "ok" if word.spec.copies == 1 else "invalid"
        if status == "ok":
            self.client.apply(ConfigMap(metadata=meta_for(word), data={"text": word.spec.text}), owner=word)
        if word.status != status:
            self.client.update_status(replace(word, status=status))


def test_status_may_be_a_text() -> None:
    word = Word(metadata=ObjectMeta(name="a", namespace="default"), spec=GreetingSpec(text="hello"))
    perturb(RejectsCopies, [create(word)], only=["transition"]).check()


@dataclass(frozen=True)
class ClaimSpec:
    size: int = 1
    volume: str = ""


@api_type(group="greetings.example.com", version="v1", status=False)
@dataclass(frozen=True)
class Claim:
    metadata: ObjectMeta = ObjectMeta()
    spec: ClaimSpec = ClaimSpec()


class Binds(Reconciler[Claim], owns=[ConfigMap], name="binds"):
    """Writes the random name of a volume into the spec, before it creates the volume."""

    def reconcile(self, claim: Claim) -> None:
        if not claim.spec.volume:
            claim = self.client.patch(claim, {"spec": {"volume": f"disk-{secrets.token_hex(3)}"}})
        volume = ConfigMap(metadata=meta_for(claim, claim.spec.volume), data={"size": str(claim.spec.size)})
        self.client.apply(volume, owner=claim, force=True)


def test_field_of_a_spec_that_the_operator_has_set_stays_when_another_one_is_changed() -> None:
    claim = Claim(metadata=ObjectMeta(name="a", namespace="default"))
    steps = [create(claim), change(claim, {"spec": {"size": 2}})]
    resized = [f"transition:claims.greetings.example.com:default/a:{label}" for label in ("size#1", "size#1:end")]
    results = perturb(Binds, steps, plans=["reference", *resized, f"{resized[0][:-6]}spec@1:end"])
    results.check()
    assert not results.not_applicable


@dataclass(frozen=True)
class Source:
    name: str = ""


@dataclass(frozen=True)
class MirrorSpec:
    source: Source = Source()


@dataclass(frozen=True)
class MirrorStatus:
    ready: str = ""
    message: str = ""


@api_type(group="mirrors.example.com", version="v1")
@dataclass(frozen=True)
class Mirror:
    metadata: ObjectMeta = ObjectMeta()
    spec: MirrorSpec = MirrorSpec()
    status: MirrorStatus = MirrorStatus()


class Mirrors(Reconciler[Mirror], owns=[Deployment], name="mirrors"):
    """Leaves its Deployment as it is while the ConfigMap with the number of replicas is missing, and says so."""

    def setup(self, builder: ControllerBuilder) -> None:
        builder.watches(ConfigMap, lambda config: [object_name(each) for each in self.client.list(Mirror)])

    def reconcile(self, mirror: Mirror) -> None:
        source = self.client.find(ConfigMap, object_name(mirror)._replace(name=mirror.spec.source.name))
        if source is not None:
            child = deployment(mirror.metadata.name, "default", int(source.data["replicas"]))
            self.client.apply(child, owner=mirror)
        status = self.status(mirror, is_ready=source is not None)
        if status != mirror.status:
            self.client.update_status(replace(mirror, status=status))

    def status(self, mirror: Mirror, *, is_ready: bool) -> MirrorStatus:
        return MirrorStatus(message="" if is_ready else f"ConfigMap {mirror.spec.source.name} not found")


class MirrorsByFlag(Mirrors, name="mirrors-by-flag"):
    def status(self, mirror: Mirror, *, is_ready: bool) -> MirrorStatus:
        return MirrorStatus(ready=str(is_ready))


@pytest.mark.parametrize("operator", [Mirrors, MirrorsByFlag], ids=["message", "flag"])
def test_workload_may_stay_if_the_status_says_that_a_nested_field_names_what_is_missing(operator: type) -> None:
    source = ConfigMap(metadata=ObjectMeta(name="source", namespace="default"), data={"replicas": "2"})
    mirror = Mirror(ObjectMeta(name="m", namespace="default"), MirrorSpec(Source("source")))
    plan = "transition:mirrors.mirrors.example.com:default/m:source.name#2"
    [_, result] = perturb(operator, [create(source), create(mirror)], plans=["reference", plan])
    assert result.verdict == f"{plan}: ok"
