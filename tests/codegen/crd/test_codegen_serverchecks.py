"""Checks of patterns and defaults by the bundled API server's validation."""

import subprocess
import sys
from pathlib import Path

import pytest

from clientgo.codegen.crd.serverchecks import default_errors, pattern_errors


@pytest.mark.parametrize(
    "pattern", [r"\pL+\z", "[[:alpha:]_]", r"\Qa*+\E", "(?P<n>a)(?<m>b)", "(?i-s:a)", "(a{10}){100}"]
)
def test_re2_syntax_is_accepted(pattern: str) -> None:
    assert list(pattern_errors(pattern)) == []


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        pytest.param("a(?=b)", "invalid or unsupported Perl syntax: `(?=`", id="lookahead"),
        pytest.param(r"(a)\1", r"invalid escape sequence: `\1`", id="backreference"),
        pytest.param("a++", "invalid nested repetition operator: `++`", id="possessive"),
        pytest.param("a{1001}", "invalid repeat count: `{1001}`", id="too many"),
        pytest.param("(a{100}){11}", "invalid repeat count", id="too many together"),
        pytest.param("[z-a]", "invalid character class range: `z-a`", id="range"),
        pytest.param("(a", "missing closing )", id="open group"),
    ],
)
def test_other_syntax_is_rejected_with_the_reason_and_a_fix(pattern: str, expected: str) -> None:
    (error,) = pattern_errors(pattern)
    assert expected in error
    assert error.endswith(": write RE2 syntax, or a CEL rule (rules=)")


def test_default_with_unknown_field_and_wrong_type_has_two_errors() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    errors = list(default_errors(schema, {"a": "x", "b": 1}))
    assert errors == [
        "invalid default {'a': 'x', 'b': 1}: unknown field default.b",
        "invalid default {'a': 'x', 'b': 1}: default.a: Invalid value: \"string\": "
        'default.a in body must be of type integer: "string"',
    ]


@pytest.mark.e2e
def test_generator_works_without_the_bundled_server(tmp_path: Path) -> None:
    code = (
        "import importlib.metadata, sys; importlib.metadata.entry_points = lambda **_: ()\n"
        "from clientgo.codegen.__main__ import main\n"
        f"sys.exit(main(['--input-module', 'controller.api.v1alpha1', '--crd-dir', {str(tmp_path)!r}]))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert "pattern: ^[a-z0-9]" in (tmp_path / "samplecontroller.k8s.io_foos.yaml").read_text()
