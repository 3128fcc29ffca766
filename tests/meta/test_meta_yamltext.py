"""YAML of strangers: read, or refused in one sentence, before it costs anything."""

import pytest

from clientgo.meta.yamltext import DEEPEST, MOST_VALUES, NotYAML, read_yaml

BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{chr(98 + n)}: &{chr(98 + n)} [{','.join([f'*{chr(97 + n)}'] * 9)}]\n" for n in range(12)
)


def test_documents_come_in_order_and_empty_ones_as_none() -> None:
    assert read_yaml("a: 1\n---\n---\n- b\n") == [{"a": 1}, None, ["b"]]
    assert read_yaml("") == []


@pytest.mark.parametrize(
    ("text", "why", "line"),
    [
        pytest.param("a: b: c", "mapping values are not allowed", 1, id="no YAML"),
        pytest.param("a: [", "did not find expected node content", 1, id="cut off"),
        pytest.param("a: 2024-99-99", "not of the type it looks like", 0, id="a date that is none"),
        pytest.param('a: !!int ""', "not of the type it looks like", 0, id="a number that is none"),
        pytest.param("a: !!bool x", "not of the type it looks like", 0, id="a truth that is none"),
        pytest.param("a: " + "9" * 5000, "not of the type it looks like", 0, id="a number too long"),
        pytest.param("[" * 5000, "nests more than|did not find", 0, id="nesting without an end"),
        pytest.param("[" * 60_000 + "]" * 60_000, f"nests more than {DEEPEST} levels", 1, id="nesting that ends"),
        pytest.param("- " * 60_000, f"nests more than {DEEPEST} levels", 1, id="nesting in one line"),
        pytest.param("? " * 60_000, f"nests more than {DEEPEST} levels", 1, id="keys of keys"),
        pytest.param(
            "".join(f"{' ' * n}a:\n" for n in range(2_000)), f"nests more than {DEEPEST} levels", 201, id="blocks"
        ),
        pytest.param("[" * 300 + "]" * 300, f"nests more than {DEEPEST} levels", 0, id="nesting"),
        pytest.param("a: &a [*a]", "nests more than|found|unknown", 0, id="a list within itself"),
        pytest.param(BOMB, f"stands for more than {MOST_VALUES} values", 0, id="a bomb"),
        pytest.param("!!python/object:os.system {}", "could not determine a constructor", 1, id="a Python object"),
    ],
)
def test_what_is_no_plain_yaml_is_refused_in_one_sentence(text: str, why: str, line: int) -> None:
    with pytest.raises(NotYAML, match=why) as refused:
        read_yaml(text)
    assert "\n" not in str(refused.value)
    assert not line or refused.value.line == line
