"""Questions with yes or no for an answer, on a terminal or a pipe."""

import sys

from clientgo.cli.names import Refused


def ask(question: str, flag: str) -> bool:
    """What the user says to `question`; `flag` is what saves the asking.

    Raises:
        Refused: there is nobody to answer.
    """
    while True:
        print(f"{question} [y/n] ", end="", file=sys.stderr, flush=True)  # noqa: T201  # a question to the user
        line = sys.stdin.readline()
        if not line:
            print(file=sys.stderr)  # noqa: T201  # ends the question's line
            raise Refused(f"there is no answer: say --{flag} or --{flag}=false")
        answer = line.strip().lower()
        if answer in ("y", "yes"):
            return True
        if answer in ("n", "no"):
            return False
