"""Label selectors: grammar and matching."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo.kubernetes.types.shared import LabelSelector, LabelSelectorRequirement
from clientgo.meta import Selector, everything, nothing, parse_selector, selector_for
from clientgo.meta.listwatch import ListOptions
from clientgo.meta.selectors import (
    Requirement,
    SelectorError,
    field_selector_for,
    parse_field_selector,
    selector_of,
    selector_text,
)

READ = [
    ("", ""),
    ("  ", ""),
    ("x=a", "x=a"),
    ("x==a", "x=a"),
    ("x = a", "x=a"),
    ("x!=a", "x!=a"),
    ("x=a,y=b", "x=a,y=b"),
    ("y=b,x=a", "x=a,y=b"),
    ("x", "x"),
    ("!x", "!x"),
    ("! x", "!x"),
    ("x in (b,a)", "x in (a,b)"),
    ("x in (a,a)", "x in (a)"),
    ("x notin (a)", "x notin (a)"),
    ("x in ()", "x in ()"),
    ("x in (,a)", "x in (,a)"),
    ("x in (a,)", "x in (,a)"),
    ("x=", "x="),
    ("x=,y=b", "x=,y=b"),
    ("x!=,y", "x!=,y"),
    ("x>1", "x>1"),
    ("x < 7 ,\ty", "x<7,y"),
    ("in in (in,notin)", "in in (in,notin)"),
    ("notin", "notin"),
    ("app.kubernetes.io/name=web", "app.kubernetes.io/name=web"),
    ("A_b.c-D=E_f.g-H", "A_b.c-D=E_f.g-H"),
]


@pytest.mark.parametrize(("text", "written"), READ)
def test_selector_accepted_by_kubernetes_is_parsed(text: str, written: str) -> None:
    selector = parse_selector(text)
    assert str(selector) == written
    assert parse_selector(str(selector)) == selector


@pytest.mark.parametrize(
    "text",
    [
        ",",
        "x,",
        "x,,y",
        ",x",
        "=a",
        "!",
        "!!x",
        "!x=a",
        "x y",
        "x in",
        "x in a",
        "x in (",
        "x in (a",
        "x in (a b)",
        "x in a,b",
        "x notin",
        "x=a b",
        "x==!a",
        "x=(",
        "x(",
        "x>",
        "x>a",
        "x>1.5",
        "x>-1",
        "x<1_000",
        "x>99999999999999999999",
        "-x",
        "x-",
        "/x",
        "x/",
        "a/b/c",
        "UPPER.io/x",
        "x=-a",
        "x=a/b",
        f"{'x' * 64}=a",
        f"x={'a' * 64}",
        f"{'a' * 254}/x",
    ],
)
def test_selector_rejected_by_kubernetes_is_rejected(text: str) -> None:
    with pytest.raises(ValueError, match=r"^unable to parse label selector ") as caught:
        parse_selector(text)
    assert repr(text) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "labels", "matches"),
    [
        ("", {}, True),
        ("", {"x": "a"}, True),
        ("x=a", {"x": "a", "y": "b"}, True),
        ("x=a", {"x": "b"}, False),
        ("x=a", {}, False),
        ("x=", {"x": ""}, True),
        ("x=", {}, False),
        ("x!=a", {"x": "b"}, True),
        ("x!=a", {"x": "a"}, False),
        ("x!=a", {}, True),
        ("x in (a,b)", {"x": "b"}, True),
        ("x in (a,b)", {"x": "c"}, False),
        ("x in (a,b)", {}, False),
        ("x notin (a,b)", {"x": "c"}, True),
        ("x notin (a,b)", {"x": "a"}, False),
        ("x notin (a,b)", {}, True),
        ("x", {"x": ""}, True),
        ("x", {}, False),
        ("!x", {}, True),
        ("!x", {"x": ""}, False),
        ("x>1", {"x": "2"}, True),
        ("x>1", {"x": "1"}, False),
        ("x>9", {"x": "10"}, True),
        ("x<1", {"x": "0"}, True),
        ("x<1", {"x": "1"}, False),
        ("x>1", {}, False),
        ("x<1", {}, False),
        ("x>1", {"x": "two"}, False),
        ("x>1", {"x": "1_000"}, False),
        ("x>1", {"x": "9" * 25}, False),
        ("x=a,y=b", {"x": "a", "y": "b"}, True),
        ("x=a,y=b", {"x": "a"}, False),
        ("x,x!=a", {"x": "b"}, True),
        ("x,x!=a", {"x": "a"}, False),
    ],
)
def test_labels_match_when_every_requirement_holds(text: str, labels: dict[str, str], *, matches: bool) -> None:
    assert parse_selector(text).matches(labels) is matches


@given(st.dictionaries(st.sampled_from("xyz"), st.sampled_from(["", "a", "b"])))
def test_everything_matches_all_and_nothing_matches_none(labels: dict[str, str]) -> None:
    assert everything().matches(labels)
    assert not nothing().matches(labels)


@given(st.dictionaries(st.sampled_from("xyz"), st.sampled_from(["", "a", "b"])))
def test_printed_selector_of_nothing_matches_none(labels: dict[str, str]) -> None:
    assert not parse_selector(str(nothing())).matches(labels)


@given(st.dictionaries(st.from_regex(r"[a-z]+(\.[a-z]+)?", fullmatch=True), st.text()))
def test_values_of_a_field_selector_are_escaped(fields: dict[str, str]) -> None:
    terms = parse_field_selector(field_selector_for(fields))
    assert [(term.field, term.value, term.equal) for term in terms] == [(*item, True) for item in fields.items()]


def test_only_a_selector_that_matches_all_is_empty() -> None:
    assert everything().empty
    assert parse_selector("").empty
    assert not nothing().empty
    assert not parse_selector("x").empty


def test_selector_for_labels_matches_objects_with_them() -> None:
    selector = selector_for({"b": "2", "a": "1"})
    assert str(selector) == "a=1,b=2"
    assert selector.matches({"a": "1", "b": "2", "c": "3"})
    assert not selector.matches({"a": "1"})
    assert selector_for({}) == everything()


@pytest.mark.parametrize(
    ("selector", "text"),
    [
        ({"app": "web", "a.b/tier": ""}, "a.b/tier=,app=web"),
        (parse_selector("a in (b)"), "a in (b)"),
        ("app=web", "app=web"),
        ({}, ""),
        (nothing(), "nothing,!nothing"),
    ],
)
def test_selector_is_given_as_text_labels_or_value(selector: Any, text: str) -> None:
    assert selector_text(selector) == str(selector_of(selector)) == text
    assert ListOptions(label_selector=selector).query() == ({"labelSelector": text} if text else {})
    assert selector_of(selector) == parse_selector(text)


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        ({"app": "a,b!=c"}, "'a,b!=c' is not a valid label value"),
        ({"app": 1}, "1 is not a valid label value"),
        ({"app=x": "a"}, "'app=x' is not a valid label key"),
        (["app"], "invalid label selector ['app']: expected text such as app=web, or a dict of labels"),
        (None, "invalid label selector None"),
    ],
)
def test_invalid_labels_select_nothing_by_mistake(selector: Any, message: str) -> None:
    with pytest.raises((SelectorError, TypeError)) as caught:
        ListOptions(label_selector=selector)
    assert message in str(caught.value)


def expression(key: str, operator: str, *values: str) -> LabelSelectorRequirement:
    return LabelSelectorRequirement(key=key, operator=operator, values=values)


@pytest.mark.parametrize(
    ("selector", "text"),
    [
        (LabelSelector(), ""),
        (LabelSelector(match_labels={"b": "1", "a": "2"}), "a=2,b=1"),
        (LabelSelector(match_expressions=[expression("x", "In", "b", "a"), expression("a", "Exists")]), "a,x in (a,b)"),
        (LabelSelector(match_labels={"m": "1"}, match_expressions=[expression("z", "DoesNotExist")]), "m=1,!z"),
        (LabelSelector(match_expressions=[expression("x", "NotIn", "a")]), "x notin (a)"),
    ],
)
def test_selector_of_a_spec_is_a_selector(selector: LabelSelector, text: str) -> None:
    assert selector_text(selector) == text
    assert selector_of(selector) == parse_selector(text)


@pytest.mark.parametrize(
    ("invalid", "message"),
    [
        (expression("x", "in", "a"), "'x in (a)': expected In or NotIn with values, or Exists or DoesNotExist without"),
        (expression("x", "In"), "'x In ()': expected In or NotIn with values"),
        (expression("x", "Exists", "a"), "'x Exists (a)': expected In or NotIn with values"),
        (expression("x,y", "Exists"), "'x,y' is not a valid label key"),
        (expression("x", "In", "a),y"), "'a),y' is not a valid label value"),
    ],
)
def test_invalid_expression_of_a_spec_is_named(invalid: LabelSelectorRequirement, message: str) -> None:
    with pytest.raises(SelectorError) as caught:
        selector_of(LabelSelector(match_expressions=[invalid]))
    assert message in str(caught.value)


def test_field_selector_that_is_not_text_is_rejected() -> None:
    selector: Any = {"metadata.name": "a"}
    with pytest.raises(TypeError, match=r"invalid field selector .*: expected text such as status\.phase=Failed"):
        ListOptions(field_selector=selector)


@pytest.mark.parametrize(
    ("value", "text"), [(True, "true"), (0, "0"), (1.0, "1"), (1.5, "1.5"), (None, ""), ("True", "True")]
)
def test_field_is_compared_by_its_text_in_json(value: Any, text: str) -> None:
    (term,) = parse_field_selector(f"spec.a={text}")
    assert term.matches({"spec": {"a": value}})


@pytest.mark.parametrize("value", [{"b": "c"}, [], {}, ["a"]])
def test_field_with_members_equals_no_text(value: Any) -> None:
    for text in ("", str(value).replace(",", "")):
        (term,) = parse_field_selector(f"spec.a={text}")
        assert not term.matches({"spec": {"a": value}})


keys = st.from_regex(r"\A([a-z0-9]{1,5}\.[a-z]{1,3}/)?[A-Za-z0-9]([-_.A-Za-z0-9]{0,6}[A-Za-z0-9])?\Z")
values = st.from_regex(r"\A([A-Za-z0-9]([-_.A-Za-z0-9]{0,6}[A-Za-z0-9])?)?\Z")
requirements = st.one_of(
    st.builds(Requirement, keys, st.sampled_from(["exists", "!"])),
    st.builds(lambda k, op, v: Requirement(k, op, (v,)), keys, st.sampled_from(["=", "!="]), values),
    st.builds(lambda k, op, v: Requirement(k, op, (str(v),)), keys, st.sampled_from("<>"), st.integers(0, 2**63 - 1)),
    st.builds(
        lambda k, op, v: Requirement(k, op, tuple(sorted(v))),
        keys,
        st.sampled_from(["in", "notin"]),
        st.sets(values, min_size=1, max_size=4),
    ),
)
selectors = st.builds(
    lambda result: Selector(tuple(sorted(result, key=lambda r: r.key))), st.lists(requirements, max_size=5)
)


@given(selectors)
def test_formatted_selector_is_parsed_to_an_equal_one(selector: Selector) -> None:
    assert parse_selector(str(selector)) == selector
