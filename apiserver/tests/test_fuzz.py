"""Fuzzing of the bundled server by Hypothesis: the response to any object, patch or query is valid."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apiserver.tests.fuzzinputs import CREATABLE, FIELDS, PATCH_TYPES, PATCHED, outcome, with_objects
from apiserver.tests.inprocess import FOOS, Kube
from tests.models.budget import examples

LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-5, 99)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["", "a", "object", "v1", "Foo", "replace", "delete"])
)
VALUES = st.recursive(
    LEAVES,
    lambda child: st.lists(child, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), child, max_size=4),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=4)
FUZZ = settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def populated() -> Kube:
    return with_objects()


def overlaid(base: Any, changes: Any) -> Any:
    if not isinstance(base, dict) or not isinstance(changes, dict):
        return changes
    return {**base, **{field: overlaid(base.get(field), value) for field, value in changes.items()}}


@pytest.mark.parametrize(("url", "base"), CREATABLE)
@FUZZ
@given(changes=OBJECTS)
def test_any_object_is_accepted_or_rejected(
    kube: Kube, url: str, base: dict[str, Any], changes: dict[str, Any]
) -> None:
    outcome(kube.send("POST", f"{url}?dryRun=All", overlaid(base, changes)))


@pytest.mark.parametrize("kind", PATCH_TYPES)
@FUZZ
@given(patch=VALUES)
def test_any_patch_is_accepted_or_rejected(populated: Kube, kind: str, patch: Any) -> None:
    for url in PATCHED:
        outcome(populated.send("PATCH", f"{url}?fieldManager=m&dryRun=All", patch, kind))


@FUZZ
@given(query=st.text(alphabet="abcdefgh=!,()<>. in0123&%", max_size=30))
def test_any_query_is_accepted_or_rejected(kube: Kube, query: str) -> None:
    for name in ("labelSelector", "fieldSelector", "limit", "continue", "resourceVersion", "timeoutSeconds"):
        outcome(kube.send("GET", f"{FOOS}?{name}={query}"))
