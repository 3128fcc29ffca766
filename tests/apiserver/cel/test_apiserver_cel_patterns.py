"""Patterns in RE2 syntax: Python answers where both agree, and must never answer otherwise than Google's engine."""

import warnings
from typing import Any

import pytest
from cel_expr_python import cel  # type: ignore[import-untyped, unused-ignore]
from hypothesis import example, given
from hypothesis import strategies as st

from clientgo.apiserver.cel.functions.patterns import matches, pattern_error

TEXTS = st.text("ab1-\n]", max_size=4)


@pytest.fixture(scope="module")
def engine() -> Any:
    names = dict.fromkeys(("pattern", "text"), cel.Type.DYN)
    return cel.NewEnv(variables=names).compile("text.matches(pattern)")


@given(st.text("ab1^$.*+?()[]{}-|,\\ :=!&~\n", max_size=9), TEXTS)
@example("a*+", "aa")
@example("a{2,1001}", "aa")
@example("[[]a", "a")
@example("^*", "")
@example("(?:a)$", "a\n")
@example("^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "a-b")
def test_python_never_decides_otherwise_than_re2(engine: Any, pattern: str, text: str) -> None:
    answer = engine.eval(data={"pattern": pattern, "text": text})
    valid = answer.type() != cel.Type.ERROR
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (pattern_error(pattern) == "") is valid
        assert matches(pattern, text) is (valid and bool(answer.plain_value()))
