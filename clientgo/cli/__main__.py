"""The command: `clientgo init`, `clientgo create api`, `clientgo manifests`, `clientgo generate` and others.

    clientgo init --domain c9g.io --project-name foo
    clientgo create api --group samplecontroller --version v1alpha1 --kind Foo --resource --controller

`python -m clientgo.cli` is the same. What it writes is told, a line for each file; what is wrong, in one sentence.
"""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from clientgo.cli.arguments import parser
from clientgo.cli.completion import script
from clientgo.cli.creating import create_api, create_webhook, init, say
from clientgo.cli.names import Refused
from clientgo.version import VERSION


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what is asked, in the current folder; returns the exit code."""
    options = parser().parse_args(arguments)
    try:
        return _COMMANDS[options.command](options, Path.cwd())
    except Refused as error:
        print(f"clientgo {options.command}: {error}", file=sys.stderr)  # noqa: T201  # the command's answer
        return 1
    except OSError as error:
        print(f"clientgo {options.command}: {error}", file=sys.stderr)  # noqa: T201  # as above
        return 1


def _generate(options: argparse.Namespace, root: Path) -> int:
    # Loaded here: the generators take half of the time that a command has to start, and the others need none of them.
    from clientgo.cli.generating import run_codegen  # noqa: PLC0415

    return run_codegen(root, options.command, verify=options.verify)


def _completion(options: argparse.Namespace, _: Path) -> int:
    say(script(options.shell, parser()))
    return 0


def _version(_: argparse.Namespace, __: Path) -> int:
    say(f"clientgo {VERSION}")
    return 0


_COMMANDS: Mapping[str, Callable[[argparse.Namespace, Path], int]] = {
    "init": init,
    "create api": create_api,
    "create webhook": create_webhook,
    "manifests": _generate,
    "generate": _generate,
    "completion": _completion,
    "version": _version,
}


if __name__ == "__main__":
    sys.exit(main())
