"""What the generators' commands have in common: options, and the last step from texts to files."""

import argparse
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from clientgo.codegen.texts import Text
from clientgo.codegen.write import ForeignFile, Header, difference, stale_files, write_all

COMMAND = "hack/update-codegen.sh"


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options every generator has."""
    parser.add_argument(
        "--boilerplate",
        "--header",
        dest="header",
        type=Path,
        metavar="FILE",
        help="text that each file begins with (comment lines)",
    )
    parser.add_argument(
        "--root", type=Path, default=Path(), metavar="DIR", help="folder to write below (default: here)"
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
        OSError: its file can't be read.
    """
    boilerplate = options.header.read_text(encoding="utf-8") if options.header is not None else ""
    return Header(boilerplate, options.command)


def with_header(texts: Iterable[Text], root: Path, header: Header) -> dict[Path, str]:
    """Path to whole text of every module."""
    return {root / text.path: header.of(text.sources) + text.body for text in texts}


def finish(texts: Mapping[Path, str], folders: Iterable[Path], options: argparse.Namespace, header: Header) -> int:
    """Write or verify; returns the exit code."""
    stale = stale_files(folders, texts, header)
    if options.verify:
        lines = list(difference(texts, stale, options.root))
        if lines:
            print(*lines, sep="\n")  # noqa: T201  # the command's answer
            return complain([f"generated files differ from what they are made of: run {options.command}"])
        return 0
    try:
        changed = write_all(texts, stale, header)
    except (ForeignFile, OSError) as error:
        return complain([str(error)])
    for path in changed:
        print(path.relative_to(options.root))  # noqa: T201  # the command's answer
    return 0


def complain(messages: Iterable[str]) -> int:
    """Say what is wrong, one line each; returns the exit code."""
    for message in messages:
        print(message, file=sys.stderr)  # noqa: T201  # the command's answer
    return 1
