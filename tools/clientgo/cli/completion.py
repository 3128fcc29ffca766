"""The command `completion`, by shtab (extra `completion`). Imported only if needed."""

import argparse
from pathlib import Path

from clientgo.cli.arguments import parser
from clientgo.cli.creating import say
from clientgo.errors import ConfigError

try:
    import shtab
except ImportError as error:
    raise ConfigError("completion scripts need the package shtab: pip install shtab") from error


def completion(options: argparse.Namespace, _: Path) -> int:
    """Print the completion script of a shell."""
    say(shtab.complete(parser(), options.shell))
    return 0
