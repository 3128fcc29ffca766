"""Log formats: text in klog's format, JSON, and lines for people."""

import ast
import io
import json
import logging
import os
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo import log
from clientgo.log.tracebacks import MAX_EXCEPTIONS
from clientgo.log.values import MAX_TEXT

KLOG = re.compile(
    r"(?P<letter>[IWEF])\d{4} \d{2}:\d{2}:\d{2}\.\d{6} (?P<pid>[ \d]{7,}) (?P<place>\S+:\d+)\] (?P<rest>.*)"
)
"""What parsers of Kubernetes' logs look for at the beginning of a line."""

HUMAN = re.compile(r"\d{2}:\d{2}:\d{2}\.\d{3} (?P<level>[A-Z]{4,5}) +(?P<rest>.*)")
"""Line for people without colors."""


def logger(**options: Any) -> tuple[logging.Logger, io.StringIO]:
    stream = io.StringIO()
    logging.getLogger().handlers.clear()  # pytest's, which raises for lines that cannot be formatted
    log.setup(stream=stream, **options)
    return logging.getLogger("clientgo.test"), stream


def pairs(stream: io.StringIO) -> str:
    """Return the text after the header, without the thread."""
    [line] = stream.getvalue().splitlines()
    match = KLOG.fullmatch(line)
    assert match is not None
    return match["rest"].removesuffix(' thread="MainThread"')


def test_line_of_text_has_klogs_header() -> None:
    to, stream = logger()
    to.info("synced")
    match = KLOG.fullmatch(stream.getvalue().rstrip("\n"))
    assert match is not None
    assert (match["letter"], match["rest"]) == ("I", '"synced" thread="MainThread"')
    assert match["pid"] == f"{os.getpid():7d}"
    assert match["place"].startswith(f"{Path(__file__).name}:")


def test_values_are_encoded_as_json() -> None:
    to, stream = logger()
    to.info("synced", extra={"foo": "default/x", "count": 3, "ratio": 0.5, "quiet": True, "of": None, "in": ["a", 1]})
    assert pairs(stream) == '"synced" foo="default/x" count=3 ratio=0.5 quiet=true of=null in=["a", 1]'


def test_quotes_and_line_breaks_stay_in_one_line() -> None:
    to, stream = logger()
    to.warning('say "hi"\nthere: %s', "ß", extra={"text": 'a "b"\nc'})
    assert pairs(stream) == '"say \\"hi\\"\\nthere: ß" text="a \\"b\\"\\nc"'


@pytest.mark.parametrize(
    ("level", "letter"), [("debug", "I"), ("info", "I"), ("warning", "W"), ("error", "E"), ("critical", "F")]
)
def test_the_severity_is_the_first_letter(level: str, letter: str) -> None:
    to, stream = logger(level="debug")
    to.log(getattr(logging, level.upper()), "x")
    assert stream.getvalue()[0] == letter


def fail() -> None:
    try:
        raise KeyError('first\nI1121 10:34:22.000000    4711 file.py:1] "forged"')
    except KeyError as error:
        raise ValueError("boom") from error


def test_traceback_follows_its_line_with_each_message_in_one_line() -> None:
    to, stream = logger()
    try:
        fail()
    except ValueError:
        to.exception("failed")
    first, second, *lines, last = stream.getvalue().splitlines()
    assert KLOG.match(first)
    assert (second, last) == ("Traceback (most recent call last):", "ValueError: boom")
    assert not any(KLOG.match(line) for line in lines)
    [cause] = [line for line in lines if line.startswith("KeyError: ")]
    assert "forged" in cause
    assert "which was the cause of:" in lines


def test_exception_groups_and_notes_are_shown_and_long_chains_truncated() -> None:
    to, stream = logger()
    noted = ValueError("inner")
    noted.add_note("a note")
    to.error("failed", exc_info=ExceptionGroup("several", [noted, OSError("other")]))
    text = stream.getvalue()
    assert (
        "ExceptionGroup: several (2 sub-exceptions)\n  1 of 2:\n    ValueError: inner\n      a note\n  2 of 2:" in text
    )
    chain = ValueError("0")
    for number in range(1, 2000):
        error = ValueError(str(number))
        error.__cause__ = chain
        chain = error
    to.error("failed", exc_info=chain)
    assert stream.getvalue().removeprefix(text).count("ValueError: ") == MAX_EXCEPTIONS


def test_json_is_one_object_a_line() -> None:
    to, stream = logger(style="json")
    to.info("synced %s", "x", extra={"foo": "default/x", "cause": ValueError("odd")})
    to.warning("again")
    first, second = (json.loads(line) for line in stream.getvalue().splitlines())
    assert first.pop("ts").endswith("Z")
    assert first.pop("caller").startswith(f"{Path(__file__).name}:")
    assert first == {
        "level": "info", "v": 0, "logger": "clientgo.test", "thread": "MainThread", "msg": "synced x",
        "foo": "default/x", "cause": "odd",
    }  # fmt: skip
    assert (second["level"], second["msg"], "v" in second) == ("warning", "again", False)


def test_json_carries_the_traceback() -> None:
    to, stream = logger(style="json")
    try:
        raise ValueError("boom")
    except ValueError:
        to.exception("failed")
    assert json.loads(stream.getvalue())["stacktrace"].endswith("ValueError: boom")


@pytest.mark.parametrize("style", log.FORMATS)
def test_value_does_not_override_the_header(style: str) -> None:
    to, stream = logger(style=style)
    to.info("true", extra={"level": "error", "ts": "never", "name_": "example", "v": 9})
    if style == "json":
        entry = json.loads(stream.getvalue())
        assert (entry["level"], entry["v"], entry["name"]) == ("info", 0, "example")
        assert (entry["level_"], entry["ts_"], entry["v_"]) == ("error", "never", 9)
    elif style == "human":
        assert stream.getvalue().endswith(" INFO  true  level_=error ts_=never v_=9 name=example\n")
    else:
        assert pairs(stream) == '"true" level_="error" ts_="never" name="example" v_=9'


class Unshowable:
    def __str__(self) -> str:
        raise SystemExit("no text")


class Changing(Mapping[str, str]):
    def __getitem__(self, key: str) -> str:
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        raise RuntimeError("dictionary changed size during iteration")

    def __len__(self) -> int:
        return 1


@pytest.mark.parametrize("style", log.FORMATS)
@pytest.mark.parametrize(
    "value",
    [Unshowable(), Changing(), 10**5000, float("nan"), {("a", 1): {2}}, [[[[[["deep"]]]]]]],
    ids=["no text", "changing", "huge", "nan", "keys", "deep"],
)
def test_line_is_written_for_every_value(style: str, value: object) -> None:
    to, stream = logger(style=style)
    to.info("written", extra={"value": value})
    to.info("%d", value if isinstance(value, Unshowable) else "no number")
    first, second = stream.getvalue().splitlines()
    assert "written" in first
    assert "its arguments don't fit: " in second
    if style == "json":
        assert "value" in json.loads(first)


def test_long_value_is_truncated() -> None:
    to, stream = logger(style="json")
    to.info("x" * (MAX_TEXT + 5), extra={"body": "y" * 10_000_000})
    entry = json.loads(stream.getvalue())
    assert entry["msg"] == "x" * MAX_TEXT + "… (5 more)"
    assert entry["body"].endswith(f"y… ({10_000_000 - MAX_TEXT} more)")


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.binary()
    | st.text(st.characters(codec=None, categories=("Cc", "Cf", "Cs", "Zl", "Zp", "L", "Po", "Co"))),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip
RESERVED = set(vars(logging.makeLogRecord({}))) | {"message", "asctime"}
KEYS = st.text(min_size=1, max_size=8).filter(lambda key: key not in RESERVED)


@pytest.mark.parametrize("style", log.FORMATS)
@given(message=st.text(), extra=st.dictionaries(KEYS, ANYTHING, max_size=3))
def test_every_message_and_value_is_logged_as_one_printable_line(
    style: str, message: str, extra: dict[str, Any]
) -> None:
    to, stream = logger(style=style)
    to.info("%s", message, extra=extra)
    text = stream.getvalue()
    assert text.endswith("\n")
    assert text[:-1].isprintable()
    if style == "json":
        assert len(json.loads(text)) >= 6
    elif style == "human":
        assert HUMAN.fullmatch(text[:-1])
    else:
        assert KLOG.fullmatch(text[:-1])


@pytest.mark.parametrize("char", ["\n", "\r", "\x1b", "\x7f", "\x9b", "\u2028", "\u202e", "\x00", "\ud800"])
@pytest.mark.parametrize("style", log.FORMATS)
def test_no_control_character_reaches_the_stream(style: str, char: str) -> None:
    to, stream = logger(style=style)
    with log.context(**{f"key{char}": f"a{char}b"}):
        to.info("a%sb", char, extra={f"other{char}": {char: [char]}, "err": ValueError(char)})
        try:
            raise RuntimeError(f"a{char}[31mb")
        except RuntimeError:
            to.exception("failed")
    text = stream.getvalue()
    assert char == "\n" or char not in text
    assert text.count("\n") == len([line for line in text.splitlines() if line]) == (2 if style == "json" else 6)


def test_lines_below_the_level_are_not_logged() -> None:
    to, stream = logger(level="warning")
    to.info("unheard")
    logging.getLogger("urllib3.connectionpool").warning("retrying")
    assert stream.getvalue() == ""


class Broken(io.StringIO):
    def write(self, _: str) -> int:
        raise OSError("no space left on device")


def test_line_that_cannot_be_written_is_counted_and_not_printed(capsys: pytest.CaptureFixture[str]) -> None:
    logging.getLogger().handlers.clear()
    log.setup(stream=Broken())
    logging.getLogger("clientgo.test").warning("token %s", "s3cret-value")
    [handler] = logging.getLogger().handlers
    assert getattr(handler, "lost", None) == 1
    assert capsys.readouterr() == ("", "")


def test_setup_keeps_handlers_of_others_and_replaces_those_of_the_terminal(caplog: pytest.LogCaptureFixture) -> None:
    root, to_file = logging.getLogger(), logging.StreamHandler(io.StringIO())
    root.handlers += [to_file, logging.StreamHandler(sys.stderr)]
    other_items = [handler for handler in root.handlers if handler.__class__.__module__.startswith("_pytest")]
    log.setup(stream=(first := io.StringIO()))
    log.setup(stream=(second := io.StringIO()))
    assert root.handlers[1:] == [*other_items, to_file]
    log.get_logger("clientgo.test").warning("once")
    assert (first.getvalue(), second.getvalue().count("once"), caplog.messages) == ("", 1, ["once"])


class Failing(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        raise SystemExit("disk full")


def test_handler_that_raises_does_not_affect_the_thread_that_logs(caplog: pytest.LogCaptureFixture) -> None:
    logging.getLogger().addHandler(Failing())
    log.get_logger("clientgo.test").warning("lost only there")
    (record,) = caplog.records
    assert (record.funcName, record.filename) == (
        "test_handler_that_raises_does_not_affect_the_thread_that_logs",
        Path(__file__).name,
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"level": "loud"}, "unknown log level 'loud'"),
        ({"level": -1}, "unknown log verbosity -1: use 0 or more"),
        ({"style": "xml"}, "unknown log format 'xml'"),
    ],
)
def test_unknown_level_or_format_is_rejected(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        logger(**options)


ROOT = Path(__file__).parents[2]
FOLDERS = ("clientgo", "apiserver/clientgo_apiserver", "controller")
SOURCES = [ROOT / "main.py", *(path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py")))]


def extras(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg == "extra" and isinstance(node.value, ast.Dict):
            for key in node.value.keys:
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    yield node.value.lineno, key.value


def test_no_log_call_uses_a_name_that_logging_rejects() -> None:
    # logging raises KeyError for them, at the call: a line that is written rarely would crash its thread.
    matches = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in SOURCES
        if path.exists() and "extra=" in (text := path.read_text())
        for line, name in extras(ast.parse(text))
        if name in RESERVED
    ]
    assert matches == []


def arguments(tree: ast.AST) -> Iterator[int]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            logger, method = node.func.value, node.func.attr
            expected = 2 if method == "log" else 1
            if isinstance(logger, ast.Name) and logger.id in ("log", "_log") and len(node.args) > expected:
                yield node.lineno


def test_messages_of_the_library_have_no_arguments_and_contain_their_facts() -> None:
    # `LogMessage` would have its facts formatted with the arguments; a plain logger would not show the facts.
    sources = {path.relative_to(ROOT): path.read_text() for path in SOURCES if path.exists()}
    matches = [
        f"{path}:{line}" for path, text in sources.items() if "log." in text for line in arguments(ast.parse(text))
    ]
    assert matches == []
    assert [path for path, text in sources.items() if "logging.getLogger(__name__)" in text] == []
