"""Status conditions in JSON form, judged as `kubectl wait` does."""

from typing import Any

import pytest

from clientgo.meta.conditions import conditions_of, has_condition

READY = {"type": "Ready", "status": "True"}


def thing(**status: Any) -> dict[str, Any]:
    return {"metadata": {"name": "a", "generation": 2}, "status": status}


@pytest.mark.parametrize(
    ("status", "holds"),
    [
        pytest.param({"conditions": [READY]}, True, id="no generation observed"),
        pytest.param({"observedGeneration": 1, "conditions": [READY]}, False, id="status of an older generation"),
        pytest.param({"observedGeneration": 2, "conditions": [READY]}, True, id="status of this generation"),
        pytest.param({"observedGeneration": 3, "conditions": [READY]}, True, id="status of a later generation"),
        pytest.param({"conditions": [{**READY, "observedGeneration": 1}]}, False, id="condition of an older one"),
        pytest.param({"conditions": [{**READY, "observedGeneration": 0}]}, False, id="condition of generation 0"),
        pytest.param({"observedGeneration": 1, "conditions": [{**READY, "observedGeneration": 2}]}, True,
                     id="the condition's own generation decides"),
        pytest.param({"observedGeneration": 2, "conditions": [{**READY, "observedGeneration": 1}]}, False,
                     id="the condition's own generation decides against it"),
        pytest.param({"observedGeneration": "1", "conditions": [READY]}, True, id="a text is no generation"),
        pytest.param({"observedGeneration": 1.5, "conditions": [READY]}, True, id="a fraction is no generation"),
        pytest.param({"observedGeneration": True, "conditions": [READY]}, True, id="a boolean is no generation"),
        pytest.param({"conditions": [{**READY, "status": "False"}, READY]}, False, id="the first one decides"),
        pytest.param({"conditions": [{"type": "Ready"}, READY]}, True, id="one without a status is skipped"),
        pytest.param({"conditions": [{"type": "ready", "status": "TRUE"}]}, True, id="upper and lower case"),
        pytest.param({"conditions": [{**READY, "status": True}]}, False, id="a boolean is no status"),
        pytest.param({"conditions": ["Ready", None, 1, [], READY]}, True, id="entries that are not maps are skipped"),
        pytest.param({"conditions": {"Ready": "True"}}, False, id="a map"),
        pytest.param({"conditions": "Ready"}, False, id="a text"),
        pytest.param({"conditions": None}, False, id="null"),
    ],
)  # fmt: skip
def test_condition_holds_as_for_kubectl_wait(status: dict[str, Any], holds: bool) -> None:
    assert has_condition(thing(**status), "Ready") is holds


@pytest.mark.parametrize("status", [None, "text", [READY], 3])
def test_status_that_is_not_a_map_has_no_conditions(status: Any) -> None:
    assert conditions_of({"metadata": {}, "status": status}) == []


def test_expected_status_is_given_after_the_type() -> None:
    failed = thing(conditions=[{"type": "Ready", "status": "False"}])
    assert (has_condition(failed, "Ready"), has_condition(failed, "Ready=false")) == (False, True)
