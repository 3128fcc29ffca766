"""Generated clients with subresource methods."""

import importlib
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clientgo.codegen.__main__ import main
from clientgo.errors import BadRequest, MethodNotAllowed
from clientgo.meta import ObjectMeta
from clientgo.meta.listwatch import ListOptions
from clientgo.rest.request import APPLY_PATCH, JSON_PATCH, MERGE_PATCH
from clientgo.testing.actions import Action
from clientgo.testing.watchsource import FakeWatcher
from clientgo.typed.scale import Scale, ScaleSpec
from tests.codegen.generating import generate, importable
from tests.codegen.kinds.workshop import Machine, MachineSpec, Repair


@pytest.fixture(scope="module")
def generated_package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("workshop")
    generate(folder, "workshop", package="made_workshop")
    with importable(folder, "made_workshop"):
        yield "made_workshop"


@pytest.fixture
def fake(generated_package: str) -> Any:
    return importlib.import_module(f"{generated_package}.clientset.fake").FakeClientset()


def machine(name: str, speed: int = 1, namespace: str = "ns") -> Machine:
    return Machine(ObjectMeta(name=name, namespace=namespace), MachineSpec(speed))


def answer_subresource_calls(fake: Any, result: object) -> list[Action]:
    """Answer every call to a subresource with `result`, and return the list that records the calls."""
    seen: list[Action] = []

    def react(action: Action) -> tuple[bool, object]:
        if action.subresource:
            seen.append(action)
        return bool(action.subresource), result

    fake.prepend_reactor("*", "*", react)
    return seen


SCALE = Scale(metadata=ObjectMeta(name="m"), spec=ScaleSpec(replicas=3))


@pytest.mark.feature("D-30")
def test_client_method_sends_its_input_and_decodes_its_result(fake: Any) -> None:
    seen = answer_subresource_calls(fake, Repair(ObjectMeta(name="m"), "belt", done=True))
    repaired = fake.workshop_v1.machines("ns").repair("m", Repair(ObjectMeta(name="m"), "belt"), field_manager="me")
    assert repaired == Repair(ObjectMeta(name="m"), "belt", done=True)
    (action,) = seen
    assert (action.verb, action.namespace, action.name, action.subresource) == ("create", "ns", "m", "repair")
    assert (action.object, action.options["fieldManager"]) == (Repair(ObjectMeta(name="m"), "belt"), "me")


@pytest.mark.feature("D-30")
def test_client_method_of_each_verb_sends_the_matching_request(fake: Any) -> None:
    seen = answer_subresource_calls(fake, SCALE)
    machines = fake.workshop_v1.machines("ns")
    assert machines.get_speed("m") == SCALE
    assert machines.update_speed("m", SCALE) == SCALE
    assert machines.patch_speed("m", {"spec": {"replicas": 3}}) == SCALE
    assert machines.patch_speed("m", [{"op": "remove", "path": "/spec"}]) == SCALE
    assert machines.apply_speed("m", {"spec": {"replicas": 3}}, field_manager="me", force=True) == SCALE
    assert machines.calm("m") is None
    assert [(action.verb, action.subresource) for action in seen] == [
        ("get", "speed"), ("update", "speed"), ("patch", "speed"), ("patch", "speed"), ("apply", "speed"),
        ("delete", "speed"),
    ]  # fmt: skip
    assert [action.patch_type for action in seen[2:5]] == [MERGE_PATCH, JSON_PATCH, APPLY_PATCH]
    assert seen[4].patch_value == {"apiVersion": "autoscaling/v1", "kind": "Scale", "spec": {"replicas": 3}}
    assert seen[4].options["force"] == "true"


@pytest.mark.feature("D-30", "A-41")
def test_list_of_a_subresource_returns_the_result_class_and_sends_options(fake: Any) -> None:
    mended = Repair(ObjectMeta(name="m-1"), "belt", done=True)
    seen = answer_subresource_calls(fake, [mended])
    list_repairs = fake.workshop_v1.machines("ns").list_repairs("m", ListOptions(label_selector="part=belt", limit=5))
    assert list_repairs.items == [mended]
    (action,) = seen
    assert (action.verb, action.namespace, action.name, action.subresource) == ("list", "ns", "m", "repairs")
    assert (action.label_selector, action.options["limit"]) == ("part=belt", "5")


@pytest.mark.feature("D-30", "A-41")
def test_watch_of_a_subresource_yields_the_result_class(fake: Any) -> None:
    stream, seen = FakeWatcher(), []

    def react(action: Action) -> tuple[bool, FakeWatcher]:
        seen.append(action)
        return True, stream

    fake.prepend_watch_reactor("machines", react)
    stream.add(Repair(ObjectMeta(name="m-1"), "belt"))
    stream.end()
    with fake.workshop_v1.machines("ns").watch_repairs("m") as changes:
        assert [(change.type, change.object.part) for change in changes] == [("ADDED", "belt")]
    assert [(action.name, action.subresource, action.options["watch"]) for action in seen] == [("m", "repairs", "true")]


def test_list_and_watch_of_a_subresource_require_name_and_namespace(fake: Any) -> None:
    for method in ("list_repairs", "watch_repairs"):
        with pytest.raises(BadRequest, match="resource name may not be empty"):
            getattr(fake.workshop_v1.machines("ns"), method)("")
        with pytest.raises(BadRequest, match="a namespace must be given"):
            getattr(fake.workshop_v1.machines(), method)("m")
    assert fake.actions == []


def test_client_method_without_classes_uses_the_kind(fake: Any) -> None:
    answer_subresource_calls(fake, machine("m", 5))
    assert fake.workshop_v1.machines("ns").tune("m", machine("m", 4)) == machine("m", 5)


def test_fake_without_a_reactor_rejects_subresource_calls(fake: Any) -> None:
    with pytest.raises(MethodNotAllowed, match="does not support machines/repair: prepend a reactor that handles it"):
        fake.workshop_v1.machines("ns").repair("m", Repair(ObjectMeta(name="m")))
    with pytest.raises(MethodNotAllowed, match="the fake does not support machines/repairs"):
        fake.workshop_v1.machines("ns").list_repairs("m")
    with pytest.raises(MethodNotAllowed, match="the fake does not support machines/repairs"):
        fake.workshop_v1.machines("ns").watch_repairs("m")


METHODS = """
    from dataclasses import dataclass
    from clientgo.meta import ObjectMeta, api_type
    from clientgo.meta.declarations import client_method

    @client_method({0})
    @api_type(group="a.example.com", version="v1", status=False)
    @dataclass(frozen=True, slots=True)
    class Thing:
        metadata: ObjectMeta
"""


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ('"get", verb="get", subresource="x"', "the method get already exists: use another name"),
        ('"Grow", verb="get", subresource="x"', "invalid method name 'Grow': expected lower case letters"),
        ('"grow", verb="paint", subresource="x"', "invalid verb 'paint' of grow: expected one of get, list, watch"),
        ('"grow", verb="get", subresource=""', "the method grow requires subresource="),
        (
            '"grow", verb="create", subresource="x", input=str',
            "str of grow is not an API type: decorate it with @api_type",
        ),
    ],
)
def test_invalid_client_method_is_reported_with_its_line(
    tmp_path: Path, monkeypatch: Any, capsys: Any, arguments: str, expected: str
) -> None:
    (tmp_path / "things_with_methods.py").write_text(textwrap.dedent(METHODS).format(arguments))
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    try:
        assert main(["--input-module", "things_with_methods", "--output-package", "m", "--root", str(tmp_path)]) == 2
    finally:
        sys.modules.pop("things_with_methods", None)
    error = capsys.readouterr().err
    assert f"Thing: {expected}" in error
    assert "things_with_methods.py:" in error
