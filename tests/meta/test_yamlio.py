"""YAML input errors, and output that every reader reads as the same values."""

import json
import re
import shutil
import subprocess
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from clientgo.meta.yamlio import MAX_DEPTH, MAX_VALUES, InvalidYAML, read_yaml, to_scalar, to_yaml

BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{chr(98 + n)}: &{chr(98 + n)} [{','.join([f'*{chr(97 + n)}'] * 9)}]\n" for n in range(12)
)
MERGES = "a0: &a0 {k: v}\n" + "".join(
    f"a{n + 1}: &a{n + 1} {{<<: [{', '.join([f'*a{n}'] * 10)}], k{n}: v}}\n" for n in range(9)
)
LADDER = "- &a0 [x]\n" + "".join(f"- &a{n + 1} [*a{n}]\n" for n in range(300))


def test_documents_come_in_order_and_empty_ones_as_none() -> None:
    assert read_yaml("a: 1\n---\n---\n- b\n") == [{"a": 1}, None, ["b"]]
    assert read_yaml("") == []


@pytest.mark.parametrize(
    ("text", "reason", "line"),
    [
        pytest.param("a: b: c", "mapping values are not allowed", 1, id="no YAML"),
        pytest.param("a: [", "did not find expected node content", 1, id="cut off"),
        pytest.param('- a\n- !!int ""', "cannot decode '' as a !!int", 2, id="a number that is none"),
        pytest.param("a: !!bool 1", "cannot decode '1' as a !!bool", 1, id="a truth that is none"),
        pytest.param("a: !!int yes", "cannot decode 'yes' as a !!int", 1, id="a truth that should be a number"),
        pytest.param("a: !!null x", "cannot decode 'x' as a !!null", 1, id="a null that is none"),
        pytest.param("a: !!binary x", "!!binary value contains invalid base64 data", 1, id="no base64"),
        pytest.param("a: -.inf", "-.inf has no form in JSON", 1, id="infinity"),
        pytest.param("a: !!float .nan", ".nan has no form in JSON", 1, id="no number"),
        pytest.param(
            "{~: a}", "a key of a map is neither a text, a number nor a boolean", 1, id="a key without a value"
        ),
        pytest.param("{[a]: a}", "a key of a map is neither a text, a number nor a boolean", 1, id="a list as a key"),
        pytest.param("{<<: 1}", "map merge requires map or sequence of maps", 1, id="a merge of a number"),
        pytest.param("a: \ud800", "surrogates not allowed", 0, id="half a character"),
        pytest.param("a: \x01", "control characters are not allowed", 0, id="a control character"),
        pytest.param("[*a]", "unknown anchor 'a'", 1, id="an alias of nothing"),
        pytest.param("- &a 1\n---\n- *a", "unknown anchor 'a'", 3, id="an alias of another document's value"),
        pytest.param("[" * 5000, "levels of nesting|did not find", 0, id="nesting without an end"),
        pytest.param(
            "[" * 60_000 + "]" * 60_000, f"more than {MAX_DEPTH} levels of nesting", 1, id="nesting that ends"
        ),
        pytest.param("- " * 60_000, f"more than {MAX_DEPTH} levels of nesting", 1, id="nesting in one line"),
        pytest.param("? " * 60_000, f"more than {MAX_DEPTH} levels of nesting", 1, id="keys of keys"),
        pytest.param("".join(f"{' ' * n}a:\n" for n in range(2_000)), f"more than {MAX_DEPTH} levels of nesting", 201,
                     id="blocks"),
        pytest.param("[" * 300 + "]" * 300, f"more than {MAX_DEPTH} levels of nesting", 0, id="nesting"),
        pytest.param("a: &a [*a]", "anchor 'a' value contains itself", 1, id="a list within itself"),
        pytest.param("a: &a {b: [*a]}", "anchor 'a' value contains itself", 1, id="a map within itself"),
        pytest.param(LADDER, f"more than {MAX_DEPTH} levels of nesting", 200, id="nesting by aliases"),
        pytest.param(BOMB, f"more than {MAX_VALUES} values", 0, id="a bomb"),
        pytest.param(MERGES, f"more than {MAX_VALUES} values", 7, id="a bomb of merges"),
    ],
)  # fmt: skip
def test_invalid_yaml_is_a_one_line_error(text: str, reason: str, line: int) -> None:
    with pytest.raises(InvalidYAML, match=reason) as refused:
        read_yaml(text)
    assert "\n" not in str(refused.value)
    assert not line or refused.value.line == line


def words(text: str) -> list[str]:
    return text.split()


# Each line: texts of YAML, and the value of each in JSON.
VALUES_IN_JSON = [
    (text, json.loads(value))
    for line in r"""
        y Y yes on ON True => true
        n N No off FALSE => false
        ~ null NULL => null
        8 08 010 0o10 0O10 +8 8. 8.0 +8.0e0 0x8 0X8 0b1000 0B1000 0b+1000 8_ !!int|'8' !!float|8 => 8
        -8 -08 -010 -0o10 -0x8 -0b1000 0b-1000 -_8 -8.00 => -8
        0 00 -0 -0.0 0. .0 => 0
        1e3 1E+3 1_000 1.e3 1_e3 => 1000
        0.5 .5 +.5 5e-1 0_0.5 => 0.5
        -.5 -.5e0 => -0.5
        1e-7 => 1e-07
        1e21 => 1e21
        0777777777777777777777777 => 7.777777777777778e23
        9223372036854775808 0x8000000000000000 => 9223372036854775808
        -9223372036854775809 => -9223372036854776000
        18446744073709551616 18446744073709551617 => 18446744073709552000
        !!bool|'yes' => true
        !!null|'' => null
        !|1 !custom|1 => "1"
        !!str|yes => "yes"
        !!binary|aGk= => "hi"
        !!timestamp|2024-01-01 => "2024-01-01"
        !!python/name:os.system|'' => ""
        !custom|{a:|1} !!python/object:os.system|{a:|1} => {"a": 1}
        !!set|{a,|b} => {"a": null, "b": null}
        !!omap|[a:|1] => [{"a": 1}]
        {y:|1,|010:|2,|1.5:|3,|1e3:|4,|~x:|5,|2024-01-01:|6} =>
            {"true": 1, "8": 2, "1.5": 3, "1000": 4, "~x": 5, "2024-01-01": 6}
        {a:|1,|<<:|{a:|2,|b:|3}} {<<:|[{a:|2},|{a:|1,|b:|3}]} => {"a": 2, "b": 3}
        {<<:|{a:|2},|a:|1} => {"a": 1}
        {'<<':|1} => {"<<": 1}
        {&a|<<:|{b:|1},|c:|*a} => {"b": 1, "c": "<<"}
        [&a|{b:|&b|1},|*a,|*b] => [{"b": 1}, {"b": 1}, 1]
    """.replace("=>\n", "=>")
    .strip()
    .splitlines()
    for texts, _, value in [line.partition("=>")]
    for text in (each.replace("|", " ") for each in texts.split())
]
TEXTS_IN_YAML = words("""
    = << 22:22 190:20:30 1:30.5 2024-01-01 2024-01-01T00:00:00Z 2024-99-99 yEs 0o8 08x 0b2 0x -0b-1 0o-7 _1 1.2.3 . +
    ._5 1e400 0x1FFFFFFFFFFFFFFFF 1e 1:2:3
""")
TYPES = [("", None), ("9" * 5000, "9" * 5000), *((text, text) for text in TEXTS_IN_YAML), *VALUES_IN_JSON]


@pytest.mark.parametrize(("text", "value"), TYPES)
def test_values_have_the_types_that_kubectl_gives_them(text: str, value: Any) -> None:
    (document,) = read_yaml(f"a: {text}\n")
    assert document["a"] == value
    assert isinstance(document["a"], bool) == isinstance(value, bool)


# The types' own pages of YAML 1.1, but for a float's second dot, which no reader takes.
YAML_1_1 = re.compile(
    r"""y|Y|yes|Yes|YES|n|N|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF
    |~|null|Null|NULL|=|<<|
    |[-+]?0b[0-1_]+|[-+]?0[0-7_]+|[-+]?(0|[1-9][0-9_]*)|[-+]?0x[0-9a-fA-F_]+|[-+]?[1-9][0-9_]*(:[0-5]?[0-9])+
    |[-+]?([0-9][0-9_]*)?\.[0-9_]+([eE][-+][0-9]+)?|[-+]?[0-9][0-9_]*\.([eE][-+][0-9]+)?
    |[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+\.[0-9_]*|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)
    |[0-9]{4}-[0-9]{2}-[0-9]{2}
    |[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt]|[ \t]+)[0-9]{1,2}:[0-9]{2}:[0-9]{2}(\.[0-9]*)?
    ([ \t]*(Z|[-+][0-9]{1,2}(:[0-9]{2})?))?
    """.replace("\n", "").replace("    ", ""),
    re.ASCII,
)
YAML_1_2 = re.compile(
    r"null|Null|NULL|~||true|True|TRUE|false|False|FALSE|[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+"
    r"|[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)",
    re.ASCII,
)


GO_WORDS = words("""
    y Y yes Yes YES true True TRUE on On ON n N no No NO false False FALSE off Off OFF ~ << null Null NULL
    .nan .NaN .NAN .inf .Inf .INF +.inf +.Inf +.INF -.inf -.Inf -.INF
""")
GO_INT = re.compile(r"[-+]?(0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|0|[1-9][0-9]*)", re.ASCII)
GO_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", re.ASCII)
GO_PREFIXED = re.compile(r"0b[-+]?[01]+|-0b[01]+|0o[-+]?[0-7]+|-0o[0-7]+", re.ASCII)
GO_TIME = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt ][0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}.*)?", re.ASCII)

MISREAD = ["", *words("""
    y Y n N yes NO on Off true False null ~ = << 1 -1 +1 0 00 08 017 0o17 0O17 0x1f 0X1F -0x1F 0b11 0B11 0b-1 0o-7
    1_000 1_e3 0_x1F 1e3 1E3 1e+3 1. .5 +.5 -.5e3 1.5 +1.5E-3 .inf -.Inf .NaN 12:30 190:20:30 1:30.5
    2020-01-01 2020-1-2 2020-01-01T00:00:00Z
""")]  # fmt: skip
READ_AS_TEXT = words("""
    1.2.3 v1 10m 1Gi 0x 0o9x e3 yesterday nope Running a_b 1-2 .5. +-1 10.0.0.0/8 12:99 inf NaN 2020-01 apps/v1 10:x
""")

_WORDS = st.sampled_from([*MISREAD, *READ_AS_TEXT])
TEXTS: st.SearchStrategy[str] = (
    _WORDS | st.text("0123456789abefxXoOEnNyY+-._:~TtZ <=", max_size=7) | st.text(max_size=6)
)
SCALARS: st.SearchStrategy[Any] = TEXTS | st.integers() | st.booleans() | st.none() | st.floats(allow_nan=False)
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4), max_leaves=20
)


def is_other_type_in_go(text: str) -> bool:
    """The rules of go-yaml v2 and v3, which kubectl uses."""
    if not text or text in GO_WORDS or GO_TIME.fullmatch(text):
        return True
    if text[0] == "." and re.fullmatch(r"\.[0-9]+([eE][-+]?[0-9]+)?", text, re.ASCII):
        return True
    plain = text.replace("_", "")
    return text[0] in "+-0123456789" and any(form.fullmatch(plain) for form in (GO_INT, GO_FLOAT, GO_PREFIXED))


def readers_of_another_type(text: str) -> list[str]:
    loader: Any = yaml.SafeLoader("")
    pyyaml = loader.resolve(yaml.ScalarNode, text, (True, False))
    readers = {
        "YAML 1.1": YAML_1_1.fullmatch(text) is not None,
        "YAML 1.2": YAML_1_2.fullmatch(text) is not None,
        "go-yaml": is_other_type_in_go(text),
        "PyYAML": pyyaml != "tag:yaml.org,2002:str",
    }
    return [reader for reader, misreads in readers.items() if misreads]


def is_plain(text: str) -> bool:
    """Report whether the text is written without quotes."""
    return next(event.implicit[0] for event in yaml.parse(to_yaml([text])) if isinstance(event, yaml.ScalarEvent))


@pytest.mark.parametrize("text", MISREAD)
def test_ambiguous_text_is_quoted(text: str) -> None:
    assert readers_of_another_type(text)
    assert not is_plain(text)


@pytest.mark.parametrize("text", READ_AS_TEXT)
def test_unambiguous_text_is_not_quoted(text: str) -> None:
    assert not readers_of_another_type(text)
    assert is_plain(text)


@given(TEXTS)
def test_unquoted_text_is_text_to_every_reader(text: str) -> None:
    if is_plain(text):
        assert readers_of_another_type(text) == []


@given(VALUES, st.booleans(), st.booleans())
def test_written_values_are_read_back(value: Any, literal: bool, flow: bool) -> None:
    assert yaml.safe_load(to_yaml(value, literal=literal, flow=flow)) == value


def test_long_lines_are_not_folded_and_repeated_values_are_no_aliases() -> None:
    long, shared = "word " * 30_000 + "end", {"a": [1]}
    assert to_yaml({"long": long, "x": shared, "z": shared}) == f"long: {long}\nx:\n  a:\n  - 1\nz:\n  a:\n  - 1\n"


def test_literal_style_writes_texts_of_several_lines_as_blocks() -> None:
    assert to_yaml({"b": "one\ntwo\n", "a": "y"}, sort_keys=True, literal=True) == "a: 'y'\nb: |\n  one\n  two\n"


def test_scalar_is_quoted_where_it_must_be() -> None:
    assert [to_scalar(value) for value in ("foo", "on", True, "a: b")] == ["foo", "'on'", "true", "'a: b'"]


@pytest.mark.e2e
@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
def test_kubectl_reads_every_key_and_value_as_the_text_it_was() -> None:
    data = {text: text for text in [*MISREAD, *READ_AS_TEXT, "\x85", "\u2028", "é😀", "a: b", " a", "a\nb"]}
    object_ = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data}
    command = ("kubectl", "patch", "--local", "-f", "-", "--type=merge", "-p", "{}", "-o", "json")
    done = subprocess.run(command, input=to_yaml(object_), capture_output=True, text=True, timeout=30, check=True)
    assert json.loads(done.stdout)["data"] == data


@pytest.mark.e2e
@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
def test_kubectl_gives_values_the_same_types() -> None:
    data = "".join(f"- {text}\n" for text, _ in TYPES)
    # The data of this kind is any JSON.
    revision = "apiVersion: apps/v1\nkind: ControllerRevision\nmetadata: {name: a}\nrevision: 1\ndata:\n"
    command = ("kubectl", "patch", "--local", "-f", "-", "--type=merge", "-p", "{}", "-o", "json")
    done = subprocess.run(command, input=revision + data, capture_output=True, text=True, timeout=30, check=True)
    read = [float(value) if type(value) is int else value for value in json.loads(done.stdout)["data"]]
    assert read == [float(value) if type(value) is int else value for _, value in TYPES]
