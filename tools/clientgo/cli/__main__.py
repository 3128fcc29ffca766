"""Entry point of the command `clientgo`.

    clientgo init --domain c9g.io --project-name foo
    clientgo create api --group samplecontroller --version v1alpha1 --kind Foo --resource --controller

`python -m clientgo` is equivalent. Commands list the files they write, and report an error in one sentence.
"""

import argparse
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path

from clientgo.cli import creating
from clientgo.cli.arguments import exit_code_of, parse
from clientgo.cli.further import FURTHER, command
from clientgo.version import VERSION


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command in the current folder and return its exit code."""
    argv = sys.argv[1:] if arguments is None else arguments
    name = argv[0] if argv else ""
    if name in FURTHER:
        prog = f"clientgo {name}"
        return exit_code_of(prog, lambda: command(name)(argv[1:], prog=prog))
    options = parse(argv)
    return exit_code_of(f"clientgo {options.command}", lambda: _run(options, Path.cwd()))


def create_api(options: argparse.Namespace, root: Path) -> int:
    """Create an API, and run the generators if asked to."""
    code = creating.create_api(options, root)
    for what in ("manifests", "generate") if options.make else ():
        code = code or _run(argparse.Namespace(command=what, verify=False), root)
    return code


def version(_: argparse.Namespace, __: Path) -> int:
    """Print the version."""
    creating.say(f"clientgo {VERSION}")
    return 0


_COMMANDS = {
    "init": "clientgo.cli.creating:init",
    "edit": "clientgo.cli.creating:edit",
    "certificates": "clientgo.cli.certificates:certificates",
    "create api": "clientgo.cli.__main__:create_api",
    "create webhook": "clientgo.cli.creating:create_webhook",
    "upgrade": "clientgo.cli.upgrade:upgrade",
    "manifests": "clientgo.cli.generating:run_codegen",
    "generate": "clientgo.cli.generating:run_codegen",
    "run": "clientgo.cli.running:run",
    "perturb": "clientgo.cli.perturbing:perturb",
    "doctor": "clientgo.cli.doctor:doctor",
    "explain": "clientgo.explain.command:explain",
    "completion": "clientgo.cli.completion:completion",
    "version": "clientgo.cli.__main__:version",
}
"""Module and function of each command. A module is loaded when its command runs: the generators take most time."""


def _run(options: argparse.Namespace, root: Path) -> int:
    module, _, function = _COMMANDS[options.command].partition(":")
    code: int = getattr(importlib.import_module(module), function)(options, root)
    return code


if __name__ == "__main__":
    sys.exit(main())
