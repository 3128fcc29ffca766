"""Entry point of the command `clientgo`.

    clientgo init --domain c9g.io --project-name foo
    clientgo create api --group samplecontroller --version v1alpha1 --kind Foo --resource --controller

`python -m clientgo` is equivalent. Commands list the files they write, and report an error in one sentence.
"""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from clientgo.cli.arguments import FURTHER, exit_code_of, parse, parser
from clientgo.cli.completion import script
from clientgo.cli.creating import create_api, create_webhook, edit, init, say
from clientgo.cli.running import run
from clientgo.servers import command
from clientgo.version import VERSION


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command in the current folder and return its exit code."""
    argv = sys.argv[1:] if arguments is None else arguments
    name = argv[0] if argv else ""
    if name in FURTHER:
        prog = f"clientgo {name}"
        return exit_code_of(prog, lambda: command(name, FURTHER[name].extra)(argv[1:], prog=prog))
    options = parse(argv)
    return exit_code_of(f"clientgo {options.command}", lambda: _COMMANDS[options.command](options, Path.cwd()))


def _generate(options: argparse.Namespace, root: Path) -> int:
    # Imported here: the generators take half of the start-up time, and only these commands need them.
    from clientgo.cli.generating import run_codegen  # noqa: PLC0415

    return run_codegen(root, options.command, verify=options.verify)


def _doctor(options: argparse.Namespace, root: Path) -> int:
    # Imported here, as above: it needs the clients.
    from clientgo.cli.doctor import doctor  # noqa: PLC0415

    return doctor(options, root)


def _create_api(options: argparse.Namespace, root: Path) -> int:
    code = create_api(options, root)
    for what in ("manifests", "generate") if options.make else ():
        code = code or _generate(argparse.Namespace(command=what, verify=False), root)
    return code


def _upgrade(options: argparse.Namespace, root: Path) -> int:
    from clientgo.cli.upgrade import upgrade  # noqa: PLC0415  # with the generators, as above

    return upgrade(options, root)


def _completion(options: argparse.Namespace, _: Path) -> int:
    say(script(options.shell, parser()))
    return 0


def _version(_: argparse.Namespace, __: Path) -> int:
    say(f"clientgo {VERSION}")
    return 0


_COMMANDS: Mapping[str, Callable[[argparse.Namespace, Path], int]] = {
    "init": init,
    "edit": edit,
    "create api": _create_api,
    "create webhook": create_webhook,
    "upgrade": _upgrade,
    "manifests": _generate,
    "generate": _generate,
    "run": run,
    "doctor": _doctor,
    "completion": _completion,
    "version": _version,
}


if __name__ == "__main__":
    sys.exit(main())
