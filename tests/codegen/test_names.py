"""Name conversion, and rendering of calls, imports and docstrings."""

import ast

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo.codegen.model import Kind, group_names
from clientgo.codegen.render.source import WIDTH, call, first_sentence, import_line
from clientgo.meta.classes.hints import camel, snake
from clientgo.meta.scheme import ApiType

ATTRIBUTES = st.from_regex(r"_?x[a-z0-9]*(__?[a-z0-9]+){0,3}_?", fullmatch=True)


@given(ATTRIBUTES)
def test_camel_matches_msgspec_rename(name: str) -> None:
    built = msgspec.defstruct("Made", [(name, int)], rename="camel")
    assert msgspec.structs.fields(built)[0].encode_name == camel(name)


@pytest.mark.parametrize(
    ("kind", "plural", "accessor"),
    [
        ("Foo", "foos", "foos"),
        ("IPPool", "ippools", "ip_pools"),
        ("HorizontalPodAutoscaler", "horizontalpodautoscalers", "horizontal_pod_autoscalers"),
        ("NetworkPolicy", "networkpolicies", "network_policies"),
        ("Endpoints", "endpoints", "endpoints"),
        ("CSIDriver", "csidrivers", "csi_drivers"),
        ("Ship", "fleet-of-ships", "fleet_of_ships"),
    ],
)
def test_accessor_is_the_plural_in_snake_case(kind: str, plural: str, accessor: str) -> None:
    api = ApiType(group="g.io", version="v1", kind=kind, plural=plural, singular=kind.lower())
    assert Kind(api=api, class_name=kind, module="m", source="m.py").accessor == accessor


def test_group_name_is_its_first_label_unless_ambiguous() -> None:
    assert group_names(["", "apps", "a-b.io", "x.one.io", "x.two.io"]) == {
        "": "core", "apps": "apps", "a-b.io": "a_b", "x.one.io": "x_one_io", "x.two.io": "x_two_io",
    }  # fmt: skip


def test_snake_splits_words_at_case_changes() -> None:
    assert [snake(name) for name in ("ServiceCIDR", "CSIDriver", "Pod", "IPAddress")] == [
        "service_cidr", "csi_driver", "pod", "ip_address",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("One. Two.", "One."),
        ("no end", "no end."),
        ("e.g. this and i.e. that. Then more.", "e.g. this and i.e. that."),
        ("Version 1.2 is it. More.", "Version 1.2 is it."),
        ("A list:\n\n- of things", "A list."),
        ("", ""),
    ],
)
def test_first_sentence_ends_at_the_first_sentence_boundary(text: str, sentence: str) -> None:
    assert first_sentence(text) == sentence


@given(st.lists(st.from_regex(r"x[a-z]{1,30}=1[0-9]{1,30}", fullmatch=True), max_size=8))
def test_wrapped_call_parses_to_the_same_call(arguments: list[str]) -> None:
    text = call("function", arguments)
    assert max(map(len, text.splitlines())) <= WIDTH
    assert ast.dump(ast.parse(text)) == ast.dump(ast.parse(f"function({', '.join(arguments)})"))


def test_long_import_is_wrapped_and_sorted() -> None:
    names = [f"Name{number:02}" for number in range(20)]
    text = import_line("module", names)
    assert text.splitlines()[1] == "    Name00,"
    assert import_line("module", ["b", "C", "ALL"]) == "from module import ALL, C, b"
