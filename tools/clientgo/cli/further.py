"""Commands of other distributions, found by entry points and never imported."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol, cast

from clientgo.errors import ConfigError

COMMANDS = "clientgo.commands"
"""Group of entry points, each a `Command`."""


class Further(NamedTuple):
    """Command of another distribution: its help text, and the name of that distribution."""

    help: str
    distribution: str


FURTHER = {
    "bundle": Further("generate or validate a bundle for the Operator Lifecycle Manager", "clientgo-olm"),
    "chart": Further("generate a Helm chart from config/default in dist/chart", "clientgo-olm"),
    "apiserver": Further("run an in-memory API server for development on loopback", "clientgo-apiserver"),
}
"""Commands of other distributions of this project."""


class Command(Protocol):
    """Command of the program `clientgo`."""

    def __call__(self, arguments: Sequence[str], *, prog: str) -> int:
        """Run the command with these arguments; return the exit code."""


def command(name: str) -> Command:
    """Return a command of `FURTHER`; ConfigError if its distribution is not installed."""
    # Imported here: 10 ms of every other command.
    from importlib.metadata import entry_points  # noqa: PLC0415

    for entry_point in entry_points(group=COMMANDS, name=name):
        return cast(Command, entry_point.load())
    # Its name alone would be looked up on a public index, where it is free.
    source = "from where clientgo came from: the wheel beside its own, or a folder of its checkout"
    raise ConfigError(f"the command {name} is not installed: install {FURTHER[name].distribution} {source}")
