"""Log lines for people, and messages that contain their facts with every handler."""

import io
import logging
from typing import Any

import pytest

from clientgo import log
from clientgo.log.config import formatter_for
from clientgo.log.facts import HEADER
from clientgo.log.logger import RESERVED

RED, YELLOW, BOLD, FAINT, END = "\x1b[31m", "\x1b[33m", "\x1b[1m", "\x1b[2m", "\x1b[0m"
FOO = {"kind": "Foo", "namespace": "default", "name": "x", "reconcile_id": "1a324c18-a361-4802-a0d0-3509aed87234"}


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def line(message: str = "synced", *, level: str = "INFO", style: str = "human", **extra: Any) -> str:
    """Return one line without its time."""
    log.setup(stream=(stream := io.StringIO()), style=style)
    logging.getLogger("mine").log(getattr(logging, level), message, extra=extra)
    return stream.getvalue().rstrip("\n").partition(" ")[2]


def test_object_comes_first_then_the_message_its_reason_and_other_facts() -> None:
    with log.context(**FOO):
        messages = line("cannot reconcile", level="WARNING", attempt=3, err=ValueError("not there"), retry_in="0.04s")
    assert messages == "WARN  Foo default/x  cannot reconcile: not there  attempt=3 retry_in=0.04s"


@pytest.mark.parametrize(
    ("fields", "messages"),
    [
        ({"kind": "Node", "namespace": None, "name": "n1"}, "Node n1  synced"),
        ({"kind": "Foo"}, "synced  kind=Foo"),
        ({"name": "x", "namespace": "default"}, "synced  namespace=default name=x"),
    ],
    ids=["cluster-scoped", "no name", "no kind"],
)
def test_object_needs_a_kind_and_a_name(fields: dict[str, Any], messages: str) -> None:
    with log.context(**fields):
        assert line() == f"INFO  {messages}"


def test_values_are_quoted_only_if_they_would_be_ambiguous() -> None:
    facts: dict[str, Any] = {
        "image": "nginx:1.27", "text": "two words", "empty": "", "equal": "a=b", "list": ["a"], "none": None,
    }  # fmt: skip
    assert line(**facts) == 'INFO  synced  image=nginx:1.27 text="two words" empty="" equal="a=b" list=["a"]'


@pytest.mark.parametrize(
    ("style", "stream", "environ", "expected"),
    [
        ("auto", Terminal(), {}, "human, colors"),
        ("auto", Terminal(), {"NO_COLOR": "1"}, "human"),
        ("auto", Terminal(), {"NO_COLOR": ""}, "human, colors"),
        ("auto", Terminal(), {"TERM": "dumb"}, "human"),
        ("auto", io.StringIO(), {}, "text"),
        ("human", io.StringIO(), {}, "human"),
        ("text", Terminal(), {}, "text"),
        ("json", Terminal(), {}, "json"),
    ],
)
def test_style_depends_on_the_terminal_unless_given(
    style: str, stream: io.StringIO, environ: dict[str, str], expected: str
) -> None:
    formatter = formatter_for(style, stream, environ)
    record = logging.makeLogRecord({"msg": "synced", "levelname": "INFO", "levelno": logging.INFO})
    text = formatter.format(record)
    name = {log.HumanFormatter: "human", log.TextFormatter: "text", log.JSONFormatter: "json"}[type(formatter)]
    assert f"{name}{', colors' if END in text else ''}" == expected


def test_terminal_shows_levels_in_color_and_escapes_the_colors_of_values() -> None:
    formatter = formatter_for("auto", Terminal(), {"TERM": "xterm-256color"})
    record = logging.makeLogRecord({"msg": f"odd{RED}", "levelname": "WARNING", f"key{RED}": RED})
    with log.context(kind="Foo", name=f"x{RED}"):
        time, remainder = formatter.format(record).split(" ", 1)
    assert (time[:4], time[-4:]) == (FAINT, END)
    assert remainder.removeprefix(f"{YELLOW}WARN {END} ") == (
        f'{BOLD}Foo x\\u001b[31m{END}  odd\\u001b[31m  {FAINT}"key\\u001b[31m"={END}"\\u001b[31m"'
    )


def test_messages_of_the_library_contain_their_facts_with_other_handlers() -> None:
    plain = logging.StreamHandler(stream := io.StringIO())
    plain.setFormatter(logging.Formatter(logging.BASIC_FORMAT))
    logging.getLogger().handlers[:] = [plain]
    to = log.get_logger("clientgo.test")
    to.warning("failed to list", extra={"reflector": "configmaps", "err": "refused: password=hunter2\nforged"})
    with log.context(**FOO):
        to.error("100% wrong", extra={"attempt": 1})
    assert stream.getvalue().splitlines() == [
        "WARNING:clientgo.test:failed to list: refused: password=[redacted]\\nforged  reflector=configmaps",
        "ERROR:clientgo.test:Foo default/x  100% wrong  attempt=1",
    ]


@pytest.mark.parametrize("name", sorted(RESERVED - HEADER))
def test_fact_with_the_name_of_a_record_s_attribute_is_printed(name: str) -> None:
    log.setup(stream=(stream := io.StringIO()), style="text")
    log.get_logger("clientgo.test").warning("failed", extra={name: "mine", "other": 1})
    assert f' {name}="mine" other=1 ' in stream.getvalue()


def test_messages_of_the_library_are_constant_in_structured_formats() -> None:
    log.setup(stream=(stream := io.StringIO()), style="text")
    log.get_logger("clientgo.test").warning("failed to list", extra={"err": "refused"})
    assert stream.getvalue().partition("] ")[2].startswith('"failed to list" err="refused" ')
    assert "test_facts.py:" in stream.getvalue()
