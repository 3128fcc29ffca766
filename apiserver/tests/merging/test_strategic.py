"""Strategic merge patch on plain values, with the rules of a Pod."""

import copy
from contextlib import suppress
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo.meta.apply.mergerules import merge_rule
from clientgo.meta.jsonvalues import canonical
from clientgo.meta.patches import PatchError
from clientgo_apiserver.merging import strategic
from clientgo_apiserver.merging.mergelists import InvalidDirective, UnmergeablePatch

POD = partial(merge_rule, "Pod")
Object = dict[str, Any]
FINALIZERS, ORDER = "$deleteFromPrimitiveList/finalizers", "$setElementOrder/containers"


def merged(target: Object, patch: Object) -> Object:
    before = canonical([target, patch])
    result = strategic.apply(target, patch, POD)
    assert canonical([target, patch]) == before
    return result


def containers(*items: Any, **more: Any) -> Object:
    return {"spec": {"containers": list(items), **more}}


def named(*names: Any, **fields: Any) -> list[Object]:
    return [{"name": name, **fields} for name in names]


def deleted(*names: Any) -> list[Object]:
    return named(*names, **{"$patch": "delete"})


def finalizers(*items: Any, **more: Any) -> Object:
    return {"metadata": {"finalizers": list(items), **more}}


@pytest.mark.parametrize(
    ("target", "patch", "expected"),
    [
        pytest.param(containers({"name": "a", "image": "1"}, {"name": "b"}), containers({"name": "a", "image": "2"}),
                     containers({"name": "a", "image": "2"}, {"name": "b"}), id="items merge by key"),
        pytest.param(containers(*named("a", "b", "a")), containers(*deleted("a")), containers(*named("b")),
                     id="all items of a name are deleted"),
        pytest.param(containers(*named("a")), containers({"$patch": "replace"}, *named("b")), containers(*named("b")),
                     id="a list is replaced"),
        pytest.param(containers(*named("a", "b")), containers({"name": "a", "$patch": "replace"}, *named("c")),
                     containers(*named("c")), id="a replacing item is not kept"),
        pytest.param(containers(*named("a", "b")), containers(*named("b", image="2"), *deleted("b")),
                     containers(*named("b", image="2"), *named("a")), id="deletions come before items"),
        pytest.param({"args": ["x"]}, {"args": ["y"]}, {"args": ["y"]}, id="other lists are replaced"),
        pytest.param({"args": []}, {"args": deleted("a")}, {"args": deleted("a")}, id="directives in them are values"),
        pytest.param(finalizers("x", "z"), finalizers("y", "x"), finalizers("y", "x", "z"), id="sets are joined"),
        pytest.param(
            containers(*named("a")), containers(*named("b")), containers(*named("b", "a")), id="new items come first",
        ),
        pytest.param(
            finalizers("x", "y"), {"metadata": {FINALIZERS: ["x"]}}, finalizers("y"), id="items are deleted from a set",
        ),
        pytest.param({"metadata": {}}, {"metadata": {FINALIZERS: "x"}}, {"metadata": {}}, id="nothing is deleted"),
        pytest.param(finalizers("x"), {"metadata": {FINALIZERS: None}}, {"metadata": {}}, id="null deletes a list"),
        pytest.param({"s": {"a": 1, "b": 2}}, {"s": {"$retainKeys": ["a"]}}, {"s": {"a": 1}}, id="keys are retained"),
        pytest.param({"s": {"a": 1}}, {"s": {"$patch": "replace", "b": 1}}, {"s": {"b": 1}}, id="a map is replaced"),
        pytest.param({"s": {"a": 1}}, {"s": {"$patch": "delete", "b": 1}}, {"s": {}}, id="a map is emptied"),
        pytest.param({"s": 1}, {"s": {"$patch": "replace", "b": 1}}, {}, id="a scalar is not merged"),
        pytest.param({}, {"s": {"t": {"$patch": "merge", "b": 1}, "u": None}}, {"s": {}}, id="it is not taken"),
        pytest.param({"s": {"a": 1}}, {"s": {"a": None}}, {"s": {}}, id="null deletes"),
        pytest.param({"s": 1}, {"s": [None, {"a": None}]}, {"s": [None, {}]}, id="nulls are not taken from maps"),
    ],
)  # fmt: skip
def test_strategic_merge_patch(target: Object, patch: Object, expected: Object) -> None:
    assert merged(target, patch) == expected


@pytest.mark.parametrize(
    ("old", "items", "order", "expected"),
    [
        ("abc", named("c", "a"), "ca", "bca"),
        ("abc", [], "ca", "bca"),
        ("abcd", named("x"), "axd", "axbcd"),
        ("abc", named("x"), "xb", "xabc"),
        ("abc", deleted("b"), "ca", "ca"),
        ("ab", named("y", "x"), "", "abxy"),
        ("", named("y", "x"), "yx", "yx"),
        ("", named("y", "x"), "", "xy"),
        ("abc", [*deleted("a", "b"), *named("b")], "b", "cb"),
        ("abc", [*deleted("a"), *named("x", "a")], "xa", "bcxa"),
        ("ab", [{"$patch": "replace"}], "", ""),
    ],
)
def test_list_is_put_in_order(old: str, items: list[Object], order: str, expected: str) -> None:
    target = containers(*named(*old)) if old else {"spec": {}}
    patch = containers(*items, **{ORDER: named(*order)})
    if not items:
        del patch["spec"]["containers"]
    assert merged(target, patch) == containers(*named(*expected))


@pytest.mark.parametrize(
    ("error", "patch"),
    [
        (UnmergeablePatch, {"$patch": "burn"}),
        (UnmergeablePatch, {"$patch": "merge"}),
        (UnmergeablePatch, {"spec": {"$patch": ["delete"]}}),
        (UnmergeablePatch, containers({"image": "1"})),
        (UnmergeablePatch, containers({"$patch": "delete"})),
        (UnmergeablePatch, containers({"name": "a", "$patch": "merge"})),
        (UnmergeablePatch, containers("text")),
        (UnmergeablePatch, containers(*named("b"), **{ORDER: named("a")})),
        (UnmergeablePatch, containers(*named("a"), None, **{ORDER: named("a")})),
        (UnmergeablePatch, {"spec": {ORDER: [{"image": "1"}]}}),
        (UnmergeablePatch, {"spec": {ORDER: ["text"]}}),
        (UnmergeablePatch, {"spec": {ORDER: "text"}}),
        (UnmergeablePatch, containers(*named(None, None))),
        (UnmergeablePatch, {"spec": {"$deleteFromPrimitiveList/tolerations": [{}]}}),
        (InvalidDirective, {"spec": {"$setElementOrder": []}}),
        (InvalidDirective, {"spec": {"$deleteFromPrimitiveList": []}}),
        (InvalidDirective, {"spec": {"$retainKeys": "containers"}}),
        (InvalidDirective, containers(**{"$retainKeys": []})),
        (InvalidDirective, {"spec": {"$retainKeys": [{}]}}),
        (InvalidDirective, {"spec": {"$setElementOrder/tolerations": [{}]}}),
        (InvalidDirective, {"metadata": {"finalizers": [None]}}),
        (PatchError, {"metadata": {"finalizers": [["x"]]}}),
    ],
)
def test_strategic_merge_patch_is_rejected(error: type[PatchError], patch: Object) -> None:
    target = {**containers(*named("a"), tolerations=[{}]), "metadata": {"finalizers": []}}
    with pytest.raises(error) as raised:
        merged(target, patch)
    assert type(raised.value) is error


def test_items_of_one_name_that_merge_a_long_list_again_and_again_are_rejected() -> None:
    items = [*named("a", env=named("x", "y", "z")), *(named("a", env=named("x"))[0] for _ in range(3))]
    assert strategic.Merger(POD, max_items=17).merge(containers(*named("b")), containers(*copy.deepcopy(items)))
    with pytest.raises(PatchError, match="the patch merges lists of more than 16 items"):
        strategic.Merger(POD, max_items=16).merge(containers(*named("b")), containers(*items))


NAMES = st.sampled_from("abcd")
SOME = st.lists(NAMES, unique=True, max_size=4)
CONTAINERS = st.dictionaries(
    NAMES, st.fixed_dictionaries({}, optional={"image": NAMES, "tty": st.booleans()}), max_size=4
)


@given(CONTAINERS, CONTAINERS, SOME, st.permutations("abcd"), st.booleans())
def test_items_are_the_union_by_name_in_the_order_of_the_patch(
    old: Object, new: Object, gone: list[str], order: list[str], ordered: bool
) -> None:
    target = {"spec": {"containers": [{"name": name, **fields} for name, fields in old.items()]}}
    directives = {ORDER: named(*order)} if ordered else {}
    items = sorted(new.items(), key=lambda pair: order.index(pair[0]))
    patch = containers(*deleted(*gone), *({"name": name, **fields} for name, fields in items), **directives)
    if old or new:
        result = {item.pop("name"): item for item in copy.deepcopy(merged(target, patch)["spec"]["containers"])}
        expected = {name: fields for name, fields in old.items() if name not in gone}
        assert result == expected | {name: {**expected.get(name, {}), **fields} for name, fields in new.items()}
        names = [name for name in result if ordered or name in new]
        assert names == [name for name in order if name in names]
        unordered = [name for name in result if name not in names]
        assert unordered == [name for name in old if name in unordered]


WORDS = "spec metadata containers finalizers tolerations name image $patch $retainKeys $setElementOrder"
DIRECTIVES = (ORDER, FINALIZERS, "$deleteFromPrimitiveList/containers", "$setElementOrder/finalizers")
KEYS = st.sampled_from((*WORDS.split(), *DIRECTIVES))
LEAVES = st.none() | st.booleans() | st.integers(0, 2) | st.sampled_from(["a", "name", "replace", "delete", "merge"])
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=24
)
ITEM = st.fixed_dictionaries({}, optional={"name": LEAVES, "image": LEAVES, "$patch": LEAVES}) | VALUES
FIELD = st.lists(ITEM, max_size=4) | VALUES
SPECS = st.dictionaries(st.sampled_from(("containers", "finalizers", "tolerations", *DIRECTIVES)), FIELD)
OBJECTS = st.fixed_dictionaries({}, optional={"spec": SPECS, "metadata": SPECS}) | st.dictionaries(KEYS, VALUES)


@given(OBJECTS, OBJECTS)
def test_any_patch_gives_a_result_or_one_error(target: Object, patch: Object) -> None:
    with suppress(PatchError):
        assert isinstance(merged(target, patch), dict)
