"""What log lines look like, and that no call of ours breaks one."""

import ast
import io
import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from clientgo import log


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    root, urllib3 = logging.getLogger(), logging.getLogger("urllib3")
    handlers, level, urllib3_level = root.handlers[:], root.level, urllib3.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    urllib3.setLevel(urllib3_level)


def logger(**options: str) -> tuple[logging.Logger, io.StringIO]:
    stream = io.StringIO()
    log.setup(stream=stream, **options)
    return logging.getLogger("clientgo.test"), stream


def test_a_line_of_text_has_klogs_shape() -> None:
    to, stream = logger()
    to.info("synced", extra={"foo": "default/x", "count": 3, "ratio": 0.5, "quiet": True})
    head, _, rest = stream.getvalue().partition("] ")
    assert head.startswith("I")
    assert head.endswith(f"MainThread {Path(__file__).name}:{head.rpartition(':')[2]}")
    assert rest == '"synced" foo="default/x" count=3 ratio=0.5 quiet=True\n'


def test_quotes_and_line_breaks_stay_in_one_line() -> None:
    to, stream = logger()
    to.warning('say "hi"\nthere: %s', "ß", extra={"text": 'a "b"\nc'})
    line = stream.getvalue()
    assert line.startswith("W")
    assert line.endswith('] "say \\"hi\\"\\nthere: ß" text="a \\"b\\"\\nc"\n')


@pytest.mark.parametrize(("level", "letter"), [("debug", "D"), ("info", "I"), ("warning", "W"), ("error", "E")])
def test_the_level_is_the_first_letter(level: str, letter: str) -> None:
    to, stream = logger(level="debug")
    to.log(getattr(logging, level.upper()), "x")
    assert stream.getvalue()[0] == letter


def test_a_traceback_follows_a_line_of_text() -> None:
    to, stream = logger()
    try:
        raise ValueError("boom")
    except ValueError:
        to.exception("failed")
    first, second, *_, last = stream.getvalue().splitlines()
    assert first.endswith('"failed"')
    assert (second, last) == ("Traceback (most recent call last):", "ValueError: boom")


def test_json_is_one_object_a_line() -> None:
    to, stream = logger(style="json")
    to.info("synced %s", "x", extra={"foo": "default/x", "cause": ValueError("odd")})
    to.warning("again")
    first, second = (json.loads(line) for line in stream.getvalue().splitlines())
    assert first.pop("ts").endswith("Z")
    assert first == {
        "level": "info",
        "logger": "clientgo.test",
        "thread": "MainThread",
        "msg": "synced x",
        "foo": "default/x",
        "cause": "odd",
    }
    assert (second["level"], second["msg"]) == ("warning", "again")


def test_json_carries_the_traceback() -> None:
    to, stream = logger(style="json")
    try:
        raise ValueError("boom")
    except ValueError:
        to.exception("failed")
    assert json.loads(stream.getvalue())["stacktrace"].endswith("ValueError: boom")


def test_lines_below_the_level_are_left_out() -> None:
    to, stream = logger(level="warning")
    to.info("unheard")
    logging.getLogger("urllib3.connectionpool").warning("retrying")
    assert stream.getvalue() == ""


@pytest.mark.parametrize(
    ("options", "message"),
    [({"level": "loud"}, "unknown log level 'loud'"), ({"style": "xml"}, "unknown log format 'xml'")],
)
def test_an_unknown_level_or_format_is_said_in_one_sentence(options: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        logger(**options)


ROOT = Path(__file__).parent.parent
SOURCES = [ROOT / "main.py", *sorted((ROOT / "clientgo").rglob("*.py")), *sorted((ROOT / "controller").rglob("*.py"))]
RESERVED = set(vars(logging.makeLogRecord({}))) | {"message", "asctime"}


def extras(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg == "extra" and isinstance(node.value, ast.Dict):
            for key in node.value.keys:
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    yield node.value.lineno, key.value


def test_no_log_call_uses_a_name_that_logging_refuses() -> None:
    # logging raises KeyError for them, at the call: a line that is written rarely would crash its thread.
    found = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in SOURCES
        if path.exists() and "extra=" in (text := path.read_text())
        for line, name in extras(ast.parse(text))
        if name in RESERVED
    ]
    assert found == []
