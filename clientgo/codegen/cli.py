"""What the generators' commands have in common: options, and the last step from texts to files."""

import argparse
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from clientgo.codegen.guard import faults
from clientgo.codegen.problems import reason_of, shown_text
from clientgo.codegen.texts import Text
from clientgo.codegen.write import ForeignFile, Header, below, difference, stale_files, write_all

COMMAND = "hack/update-codegen.sh"

DIFFERENT, WRONG = 1, 2
"""Exit codes: what is there is not what would be generated; the input, or a file that is in the way, is wrong."""


class NoHeader(ValueError):
    """The boilerplate cannot be read, or is no comment."""


def path(text: str) -> Path:
    """A path as an option; a configuration's text may be none."""
    if "\0" in text:
        raise argparse.ArgumentTypeError("a path holds no NUL")
    return Path(text)


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options every generator has."""
    parser.add_argument(
        "--boilerplate",
        "--header",
        dest="header",
        type=path,
        metavar="FILE",
        help="text that each file begins with (comment lines)",
    )
    parser.add_argument(
        "--root", type=path, default=Path(), metavar="DIR", help="folder to write below (default: here)"
    )
    parser.add_argument(
        "--command", default=COMMAND, help="the command that generated files name (default: %(default)s)"
    )
    parser.add_argument(
        "--verify", action="store_true", help="write nothing; print what would change, and fail if anything"
    )


def header_of(options: argparse.Namespace) -> Header:
    """The header that the options ask for.

    Raises:
        NoHeader: the file cannot be read, or has other lines than comments.
    """
    try:
        boilerplate = options.header.read_text(encoding="utf-8") if options.header is not None else ""
    except (OSError, UnicodeDecodeError) as error:
        raise NoHeader(f"{options.header}: cannot read the boilerplate: {reason_of(error)}") from error
    if any(line.strip() and not line.startswith("#") for line in boilerplate.splitlines()):
        raise NoHeader(f"{options.header}: a line of it is no comment: begin each with #")
    return Header(boilerplate, options.command)


def with_header(texts: Iterable[Text], root: Path, header: Header) -> dict[Path, str]:
    """Path to whole text of every module."""
    return {root / text.path: header.of(text.sources) + text.body for text in texts}


def finish(
    texts: Mapping[Path, str],
    folders: Iterable[Path],
    options: argparse.Namespace,
    header: Header,
    *,
    patched: Mapping[Path, str],
) -> int:
    """Write or verify; returns the exit code. `patched` are files of others that are given another text."""
    wrong = list(faults({str(file): text for file, text in texts.items() if file.suffix == ".py"}))
    if wrong:
        return complain(wrong)
    try:
        stale = stale_files(folders, texts, header)
        if options.verify:
            return _told(list(difference({**texts, **patched}, stale, options.root)), options.command)
        changed = write_all({**texts, **patched}, stale, header, others=patched)
    except ForeignFile as error:
        return complain([str(error)])
    except OSError as error:
        return complain([f"{error.filename}: cannot write the file: {reason_of(error)}"])
    for file in changed:
        print(below(options.root, file))  # noqa: T201  # the command's answer
    return 0


def _told(lines: Sequence[str], command: str) -> int:
    if not lines:
        return 0
    print(*lines, sep="\n")  # noqa: T201  # the command's answer
    complain([f"generated files differ from what they are made of: run {command}"])
    return DIFFERENT


def complain(messages: Iterable[str]) -> int:
    """Say what is wrong, one line each; returns the exit code."""
    for message in messages:
        print(shown_text(message), file=sys.stderr)  # noqa: T201  # the command's answer
    return WRONG
