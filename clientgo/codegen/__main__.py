"""Entry point of the code generator: clients, caches and manifests from dataclasses or third-party CRDs.

    clientgo-codegen --input-module controller.api.v1alpha1 --output-package generated \\
        --crd-dir artifacts/crd --boilerplate hack/boilerplate.py.txt [--verify]
    clientgo-codegen --config hack/codegen.yaml [--verify]

`python -m clientgo.codegen` is equivalent. docs/codegen.md describes the options and decorators.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from clientgo.codegen.config import CodegenConfigError, read_config
from clientgo.codegen.files import NoHeader, Output, complain, finish, header_of
from clientgo.codegen.generate import generate
from clientgo.codegen.options import add_options, chosen, path
from clientgo.codegen.problems import Problems, shown_text

_NAME = "clientgo-codegen"


class _Parser(argparse.ArgumentParser):
    """Argument parser that reports errors on one line."""

    def error(self, message: str) -> NoReturn:
        super().error(shown_text(message))


def main(arguments: Sequence[str] | None = None) -> int:
    """Generate or verify, and return the exit code; nothing is written if any input has an error."""
    first = _Parser(prog=_NAME, add_help=False, allow_abbrev=False)
    first.add_argument("--config", type=path)
    options, remaining = first.parse_known_args(arguments)
    try:
        runs = (
            [[*arguments_, *remaining] for arguments_ in read_config(options.config)] if options.config else [remaining]
        )
    except CodegenConfigError as error:
        return complain([str(error)])
    return _run([_options(run, options.config, number) for number, run in enumerate(runs)])


def _options(arguments: Sequence[str], config: Path | None, number: int) -> tuple[argparse.Namespace, set[str]]:
    parser = _Parser(
        prog=_NAME,
        allow_abbrev=False,
        description="Generate code and manifests from @api_type dataclasses or third-party CRDs.",
    )
    parser.add_argument("--config", type=path, metavar="FILE", help="YAML file with these options, for several outputs")
    add_options(parser)
    if config is not None and "--help" not in arguments and "-h" not in arguments:
        # Errors name the place in the file instead of the command.
        parser.prog, parser.usage = f"{config}: outputs[{number}]", argparse.SUPPRESS
    options = parser.parse_args(arguments)
    return options, chosen(options, parser)


def _run(runs: Sequence[tuple[argparse.Namespace, set[str]]]) -> int:
    problems = Problems()
    try:
        combined = Output(header_of(runs[0][0]))
        for options, generators in runs:
            output = _output(options, generators, problems)
            for file in sorted(combined.paths & output.paths):
                problems.at_module(str(file), 0, "two outputs write this file: change the folder of one")
            combined.texts |= output.texts
            combined.folders += output.folders
            combined.patched |= output.patched
    except NoHeader as error:
        return complain([str(error)])
    if problems:
        return complain(problems)
    complain(problems.warnings)
    return finish(combined, runs[0][0])


def _output(options: argparse.Namespace, generators: set[str], problems: Problems) -> Output:
    if not options.built_in:
        return generate(options, generators, problems)
    # Only this project uses it, and importing the official client takes a quarter of a second.
    from clientgo.codegen.builtin.generate import generate_builtin  # noqa: PLC0415

    return generate_builtin(options, problems)


if __name__ == "__main__":
    sys.exit(main())
