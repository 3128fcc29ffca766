"""Evaluation of CEL expressions in Kubernetes' environment."""

# ruff: noqa: E501

import json
import subprocess
import sys
from typing import Any

import pytest

from clientgo_apiserver.api.limits import CostLimitExceeded
from clientgo_apiserver.cel import types
from clientgo_apiserver.cel.compiler import compile_expression
from clientgo_apiserver.cel.environment import Expression, InvalidExpression
from clientgo_apiserver.cel.values import CelError


def expression(source: str) -> Expression:
    return compile_expression(source, {"self": types.DYN})


@pytest.mark.parametrize(
    "source",
    [
        "quantity('1Gi').isGreaterThan(quantity('1Mi')) && quantity('1').add(quantity('500m')).asApproximateFloat() == 1.5",
        "sign(quantity('-1')) == -1 && quantity('2k').asInteger() == 2000 && !isQuantity('1.5XX')",
        "!quantity('1.0').isInteger() && !quantity('5Pi').isInteger() && quantity('5Mi').isInteger() && isQuantity('.')",
        "ip('::1').family() == 6 && ip('::1').isLoopback() && !isIP('1.2.3') && ip.isCanonical('2001:db8::1')",
        "cidr('10.1.2.3/8').containsIP('10.9.9.9') && string(cidr('10.1.2.3/8').masked()) == '10.0.0.0/8'",
        "cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16') && !cidr('10.1.0.0/16').containsCIDR('10.0.0.0/8')",
        "url('https://a.b:80/c?x=1').getPort() == '80' && url('https://[::1]:80/').getHostname() == '::1'",
        "url('https://a/?x=1&x=2').getQuery() == {'x': ['1', '2']} && !isURL('a b')",
        "semver('1.2.3').isLessThan(semver('1.10.0')) && semver('1.0.0-rc.1').isLessThan(semver('1.0.0'))",
        "semver('v1.2', true).patch() == 0 && !isSemver('1.2')",
        "format.dns1123Label().validate('A').value().size() == 1 && !format.named('nosuch').hasValue()",
        "'ab12c3'.findAll('[0-9]+') == ['12', '3'] && 'ab12'.find('[0-9]') == '1' && 'x'.find('[0-9]') == ''",
        "[1, 2, 2].isSorted() && [1, 2].sum() == 3 && [3, 1].min() == 1 && [1, 2, 1].lastIndexOf(1) == 2",
        "sets.contains([1, 2], [2]) && sets.equivalent([1, 2], [2, 1, 1]) && !sets.intersects([1], [2])",
        "[3, 1, 2].sortBy(x, -x) == [3, 2, 1] && [1, 1].distinct() == [1] && [[1], [2]].flatten() == lists.range(3).slice(1, 3)",
        "'%s is %d of %.1f, %x'.format(['a', 1, 2.25, 255]) == 'a is 1 of 2.2, ff' && strings.quote('a\"') == '\"a\\\\\"\"'",
        "{'a': 1}.all(k, v, k == 'a' && v == 1) && {'a': 1}.transformMap(k, v, v + 1) == {'a': 2}",
        "[5, 6].transformList(i, v, i > 0, v) == [6] && {'a': 'b'}.transformMapEntry(k, v, {v: k}) == {'b': 'a'}",
        "self.?a.?b.orValue(3) == 3 && !self.?a.hasValue() && [self.?a.optMap(x, x)].all(x, !x.hasValue())",
        "{?'a': self.?a, 'b': dyn(1)} == {'b': 1} && [?optional.none(), 2] == [2] && [1][?5].orValue(7) == 7",
        "'%s %.2e %f'.format([{'a': [1.5]}, 1.0, 1234.5]) == '{\"a\":[1.500000]} 1.000000\u00d710\u2070\u2070 1,234.500000'",
        "string(timestamp('2024-01-01T00:00:00.1+02:00')) == '2024-01-01T00:00:00.1+02:00'",
        "duration('90m').getHours() == 1 && timestamp('2024-02-29T01:00:00Z').getDayOfYear() == 59",
        "timestamp('2024-01-01T00:00:00Z').getHours('America/New_York') == 19 && string(duration('1h')) == '3600s'",
        "dyn(1) == 1.0 && 2u > 1 && -7 / 2 == -3 && -7 % 2 == -1 && type(1) == int && type(b'') != string",
        "!(dyn(true) in {1: 'a'}) && dyn(1) in {1: 'a'} && dyn({true: 1}) != dyn({1: 1}) && dyn([true]) != dyn([1])",
        "!(dyn(true) in [1, 0]) && dyn([1]) == dyn([1.0]) && [dyn(true), dyn(1)].distinct().size() == 2",
        "!(dyn(9223372036854775807) < 9223372036854775808.0) && dyn(9223372036854775807) == 9223372036854775808.0",
        "[7, 8][dyn(1.0)] == 8 && [7, 8][dyn(0u)] == 7 && type(type(1)) == type",
        "optional.of({'a': {'b': 1}}).a['b'].orValue(0) == 1 && optional.of([5])[0].value() == 5",
        "optional.of({'a': {}}).a.b.or(optional.none()[0]).orValue(2) == 2",
        "!ip('255.255.255.255').isGlobalUnicast() && ip('10.0.0.1').isGlobalUnicast()",
        "'hello mellow'.indexOf('ello', 2) == 7 && 'hello mellow'.lastIndexOf('ello', 6) == 1 && 'a'.indexOf('', 1) == 1",
        "'hello'.charAt(4) == 'o' && 'hello'.charAt(5) == '' && 'tacocat'.substring(4) == 'cat' && 'abc'.substring(1, 2) == 'b'",
        "'aaa'.replace('a', 'b', 2) == 'bba' && ['a', 'b'].join('-') == 'a-b'",
        "'a b c'.split(' ', 2) == ['a', 'b c'] && 'a b'.split(' ', 0) == [] && 'abc'.split('', 2) == ['a', 'bc']",
        "'Ab\u00c6'.lowerAscii() == 'ab\u00c6' && 'ab\u00e6'.upperAscii() == 'AB\u00e6' && ' a\\t'.trim() == 'a'",
        "'a1b2'.findAll('[0-9]', 1) == ['1'] && strings.quote('a\\n\\\\') == '\"a\\\\n\\\\\\\\\"' && 'ab'.endsWith('b')",
        "1.0 / 0.0 == double('Infinity') && string(-1.0 / 0.0) == '-Inf' && 0.0 / 0.0 != 0.0 && 5.0 - 2.0 == 3.0",
        "timestamp('2024-01-01T00:00:00Z') + duration('1h') == timestamp('2024-01-01T01:00:00Z') && bool('t') && !bool('0')",
        "timestamp(0) == timestamp('1970-01-01T00:00:00Z') && int(timestamp('1970-01-01T00:01:00Z')) == 60 && int(duration('1s')) == 1000000000",
        "timestamp('2024-01-01T00:00:00Z').getHours('-01:30') == 22 && timestamp('2024-03-05T00:00:00Z').getMonth() == 2",
        "string(b'a') == 'a' && bytes('a') == b'a' && string(1.5) == '1.5' && uint('7') == 7u && double('1.5') == 1.5",
        "double('1_0') == 10.0 && double('0X1p-2') == 0.25 && double('-INF') < 0.0 && double('nAn') != 0.0 && double('5.') == 5.0",
        "true || 1 / 0 == 1",
        "1 / 0 == 1 || true",
        "[0, 2].exists(x, 4 / x == 2)",
        "!has(dyn(1).a)",
        "r'\\d' == '\\\\d' && '\\u00e9'.size() == 1 && b'\\xff'.size() == 1 && '''a\nb'''.split('\\n').size() == 2",
    ],
)
def test_expression_is_true(source: str) -> None:
    assert expression(source).evaluate({"self": {}}) is True


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("self.a", "no such key: a"),
        ("dyn(1).a", "no such key: a"),
        ("dyn('x')['a']", "no such key: a"),
        ("dyn([1]).a", "unsupported index type 'string' in list"),
        ("[1][5]", "index out of bounds: 5"),
        ("1 / 0", "division by zero"),
        ("9223372036854775807 + 1", "integer overflow"),
        ("timestamp('9999-12-31T00:00:00Z') - timestamp('0001-01-01T00:00:00Z')", "duration overflow"),
        ("int(-9223372036854775808.0)", "integer overflow"),
        ("uint(18446744073709551616.0)", "unsigned integer overflow"),
        ("int('x')", "type conversion error from 'string' to 'int'"),
        ("optional.none().value()", "optional.none() dereference"),
        ("self.b + 1", "no such overload"),
        ("[].min()", "min called on empty list"),
        ("[1].all(x, x / 0 == 1)", "division by zero"),
        ("1 % 0", "modulus by zero"),
        ("'abc'.charAt(4)", "index out of range: 4"),
        ("'abc'.substring(2, 1)", "invalid substring range. start: 2, end: 1"),
        ("'abc'.substring(4)", "index out of range: 4"),
        ("'abc'.indexOf('b', -1)", "index out of range: -1"),
        ("'abc'.lastIndexOf('b', 9)", "index out of range: 9"),
        ("string(b'\\xff')", "invalid UTF-8 in bytes, cannot convert to string"),
        ("bool('maybe')", "type conversion error from 'string' to 'bool'"),
        ("double('x')", "type conversion error from 'string' to 'double'"),
        ("double(' 1')", "type conversion error from 'string' to 'double'"),
        ("double('1\\n')", "type conversion error from 'string' to 'double'"),
        ("double('\u0661')", "type conversion error from 'string' to 'double'"),
        ("double('+nan')", "type conversion error from 'string' to 'double'"),
        ("double('1e400')", "type conversion error from 'string' to 'double'"),
        ("double('0x1p1024')", "type conversion error from 'string' to 'double'"),
        ("uint('-1')", "type conversion error from 'string' to 'uint'"),
        ("timestamp('2024-01-01T00:00:00Z').getHours('Mars')", "unknown time zone Mars"),
        ("timestamp('9999-12-31T23:00:00Z') + duration('2h')", "timestamp overflow"),
        (
            "quantity('x')",
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
    ],
)
def test_failed_evaluation_says_why(source: str, reason: str) -> None:
    with pytest.raises(CelError) as caught:
        expression(source).evaluate({"self": {"b": "x"}})
    assert str(caught.value) == reason


@pytest.mark.parametrize(
    ("source", "offset", "reason"),
    [
        ("selff", 0, "undeclared reference to 'selff' (in container '')"),
        ("math.greatest(1, 2)", 0, "undeclared reference to 'math' (in container '')"),
        ("'a'.reverse()", 11, "found no matching overload for 'reverse' applied to 'string.()'"),
        ("1 + 'a'", 2, "found no matching overload for '_+_' applied to '(int, string)'"),
        ("true && 1", 8, "expected type 'bool' but found 'int'"),
        ("[1, 'a']", 4, "expected type 'int' but found 'string'"),
        ("'a'.b", 3, "type 'string' does not support field selection"),
        ("1.all(x, true)", 0,
         "expression of type 'int' cannot be range of a comprehension (must be list, map, or dynamic)"),
        ("[1].all(1, true)", 8, "argument must be a simple name"),
        ("'%d'.format(['a'])", 13,
         "error during formatting: decimal clause can only be used on integers, was given string"),
        ("'%s'.format([])", 11, "index 0 out of range"),
        ("has(self)", 4, "invalid argument to has() macro"),
        ("'a'.matches('(')", 12, "invalid matches argument"),
        ("duration('x')", 9, "invalid duration argument"),
        ("self.a == while", 10, "reserved identifier: while"),
    ],
)  # fmt: skip
def test_invalid_expression_is_shown_with_a_mark(source: str, offset: int, reason: str) -> None:
    with pytest.raises(InvalidExpression) as caught:
        expression(source)
    first = "\n".join(str(caught.value).split("\n")[:3])
    assert first == f"ERROR: <input>:1:{offset + 1}: {reason}\n | {source}\n | {'.' * offset}^"


@pytest.mark.parametrize("source", ["self +", "'abc", "{", "a b", "1 ? 2"])
def test_syntax_error_names_what_is_expected(source: str) -> None:
    with pytest.raises(InvalidExpression, match=r"ERROR: <input>:1:\d+: Syntax error"):
        expression(source)


@pytest.mark.e2e
def test_syntax_errors_have_their_position_without_the_engine() -> None:
    sources = ["self +", "'abc", "a\n b", "1 ? 2", "[1, 2", ""]
    script = (
        "import sys, json; sys.modules['cel_expr_python'] = None\n"
        "from clientgo_apiserver.cel.compiler import compile_expression\n"
        f"for source in {sources}:\n"
        "    try: compile_expression(source, {})\n"
        "    except Exception as error: print(json.dumps(str(error)))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    errors = [json.loads(line) for line in done.stdout.splitlines()]
    assert [error.partition(" |")[0].strip().removeprefix("ERROR: <input>:") for error in errors] == [
        "1:7: Syntax error", "1:1: Syntax error", "2:2: Syntax error", "1:6: Syntax error", "1:6: Syntax error",
        "1:1: Syntax error",
    ]  # fmt: skip
    assert errors[2].endswith("\n |  b\n | .^")


@pytest.mark.parametrize(
    ("source", "result"),
    [
        ("1 + 2", "int"),
        ("[1].map(x, string(x))", "list(string)"),
        ("{'a': [1]}", "map(string, list(int))"),
        ("self.a", "dyn"),
    ],
)
def test_checked_expression_has_a_type(source: str, result: str) -> None:
    assert str(expression(source).result) == result


def test_variable_used_is_known() -> None:
    result: Any = compile_expression("self == oldSelf", {"self": types.INT, "oldSelf": types.INT})
    assert "oldSelf" in result.used
    assert "missing" not in expression("[1].all(x, x == 1)").used


def test_endless_evaluation_is_cancelled() -> None:
    source = "lists.range(1000).all(x, lists.range(1000).all(y, x + y >= 0))"
    with pytest.raises(CostLimitExceeded, match="actual cost limit exceeded"):
        expression(source).evaluate({})
