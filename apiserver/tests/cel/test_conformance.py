"""Player of the CEL specification's conformance tests: what it counts as passed, failed and skipped."""

import pytest

from apiserver.tests.cel.conformance import play
from apiserver.tests.cel.textproto import read_message


@pytest.mark.parametrize(
    ("test", "status"),
    [
        ("expr: '1 + 1' value: { int64_value: 2 }", "passed"),
        ("expr: '1 + 1' value { int64_value: 3 }", "failed"),
        ("expr: '1 + 1' value: { double_value: 2 }", "failed"),
        ("expr: '1 / 0' eval_error { errors { message: 'divide by zero' } }", "passed"),
        ("expr: '1' eval_error { errors: [{ message: 'x' }] }", "failed"),
        ("expr: 'a' 'b' value: { string_value: 'c' } type_env: { name: 'ab' ident { type { primitive: STRING } } }"
         " bindings: { key: 'ab' value: { value: { string_value: 'c' } } }", "passed"),
        ("expr: \"b'\\\\303'\" value: { bytes_value: '\\303' }", "passed"),
        ("expr: '[1]' typed_result: { result { list_value { values { int64_value: 1 } } }"
         " deduced_type { list_type { elem_type { primitive: INT64 } } } }", "passed"),
        ("expr: '[1]' check_only: true typed_result: { deduced_type { primitive: INT64 } }", "failed"),
        ("expr: '1' disable_check: true value: { int64_value: 1 }", "skipped"),
        ("expr: 'math.abs(1)' value: { int64_value: 1 }", "skipped"),
    ],
)  # fmt: skip
def test_outcome_is_that_of_the_evaluation(test: str, status: str) -> None:
    assert play(read_message(test)).status == status
