"""Pattern validation: syntax of Go's regexp package is accepted, other syntax is rejected with the reason."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo.codegen.crd.re2 import NotRE2, check_re2


@pytest.mark.parametrize(
    "pattern",
    ["", "^a$", "a*?", "(a|b)+", "(|a)", "()", r"\d{3,}", "a{,3}", "a{", "{", "]", "}", "[]a]", "[^]a]", "[a-b-c]",
     "^*", "[-a]", "[a-]", r"[\]\-]", "[é-ü]", "é+", r"\pL\p{Greek}\P{^Lu}", "[[:alpha:]_]", "[[:x]", r"\Qa*+\E",
     r"\A\b\z", "(?i)a", "a(?i)*", "(?i-s:a)", "(?P<n>a)(?<m>b)", r"\012", r"\_", r"\x41\x{1F600}", "(a{10}){100}"],
)  # fmt: skip
def test_re2_syntax_is_accepted(pattern: str) -> None:
    check_re2(pattern)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        pytest.param("(?=a)", "lookahead is not supported: '(?='", id="lookahead"),
        pytest.param("(?!a)", "lookahead is not supported: '(?!'", id="negative lookahead"),
        pytest.param("(?<=a)", "lookbehind is not supported", id="lookbehind"),
        pytest.param("(?<!a)", "lookbehind is not supported", id="negative lookbehind"),
        pytest.param("(?>a)", "an atomic group is not supported", id="atomic group"),
        pytest.param("(?(1)a)", "a conditional group is not supported", id="conditional"),
        pytest.param("(?#a)", "a comment is not supported", id="comment"),
        pytest.param("(?P<n>a)(?P=n)", "a backreference is not supported", id="named backreference"),
        pytest.param(r"(a)\1", r"a backreference is not supported: '\\1'", id="backreference"),
        pytest.param("a++", "possessive repetition is not supported", id="possessive"),
        pytest.param("a**", "repetition of a repetition is not supported", id="repeated twice"),
        pytest.param("a|*", "missing argument to repetition operator", id="nothing to repeat"),
        pytest.param("a{1001}", "invalid repeat count", id="too many"),
        pytest.param("a{3,2}", "invalid repeat count", id="backwards"),
        pytest.param("(a{100}){11}", "more than 1000 repetitions", id="too many together"),
        pytest.param("(" * 101 + ")" * 101, "more than 100 nested groups", id="too deep"),
        pytest.param("(?P<1-2>a)", "invalid group name", id="group name"),
        pytest.param("(?x)a", "invalid or unsupported group syntax", id="flag"),
        pytest.param(r"\Z", "invalid or unsupported escape", id="escape"),
        pytest.param(r"[\b]", "invalid or unsupported escape", id="escape in a class"),
        pytest.param(r"\x{110000}", "invalid escape", id="no character"),
        pytest.param("[[:foo:]]", "invalid character class", id="class"),
        pytest.param("[z-a]", "invalid character class range", id="range"),
        pytest.param("[a", "missing closing ]", id="open class"),
        pytest.param("(a", "missing )", id="open group"),
        pytest.param("a)", "unexpected )", id="closed group"),
        pytest.param("\\", "invalid or unsupported escape", id="lone backslash"),
    ],
)
def test_other_syntax_is_rejected_with_the_reason(pattern: str, expected: str) -> None:
    with pytest.raises(NotRE2) as raised:
        check_re2(pattern)
    assert expected in str(raised.value)


@given(st.text("ab09()[]{}|*+?^$.,-:=!<>\\dQEPpx", max_size=12))
def test_any_text_is_accepted_or_rejected(pattern: str) -> None:
    with suppress(NotRE2):
        check_re2(pattern)
