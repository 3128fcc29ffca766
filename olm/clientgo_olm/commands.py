"""The commands `clientgo bundle`, `clientgo bundle validate` and `clientgo chart`."""

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from clientgo.cli.arguments import Parser, exit_code_of
from clientgo.cli.creating import say
from clientgo_olm.bundle import make_bundle, validate_bundle
from clientgo_olm.chart import make_chart


def bundle(arguments: Sequence[str], *, prog: str) -> int:
    """Generate or validate a bundle; return the exit code."""
    parser = Parser(
        prog=prog, description="Generate or validate a bundle for the Operator Lifecycle Manager.", allow_abbrev=False
    )
    parser.set_defaults(run=partial(make_bundle, say=say))
    add = parser.add_argument
    add("--package", default="", help="package name in the catalogue (default: name of the project)")
    add("--version", default="0.0.1", help="version of the operator (default: %(default)s)")
    add("--image", default="controller:latest", help="image of the manager (default: %(default)s)")
    add("--channels", default="alpha", help="comma-separated channels (default: %(default)s)")
    add("--default-channel", default="", help="default channel")
    add("--use-image-digests", action="store_true", help="list images by digest; --image must have one")
    what = parser.add_subparsers(metavar="validate")
    text = "validate a bundle against the rules of OLM"
    validate = what.add_parser("validate", help=text, description=f"{text.capitalize()}.", allow_abbrev=False)
    validate.set_defaults(run=partial(validate_bundle, say=say))
    validate.add_argument("folder", nargs="?", default="bundle", help="folder of the bundle (default: %(default)s)")
    validate.add_argument(
        "--suite",
        action="append",
        default=[],
        choices=("operatorhub", "good-practices"),
        help="additional rules; repeatable",
    )
    return _run(parser, arguments)


def chart(arguments: Sequence[str], *, prog: str) -> int:
    """Generate a Helm chart; return the exit code."""
    parser = Parser(
        prog=prog, description="Generate a Helm chart from config/default in dist/chart.", allow_abbrev=False
    )
    parser.set_defaults(run=partial(make_chart, say=say))
    add = parser.add_argument
    add("--version", default="0.0.1", help="version of the chart and the operator (default: %(default)s)")
    add("--image", default="controller:latest", help="image of the manager (default: %(default)s)")
    return _run(parser, arguments)


def _run(parser: Parser, arguments: Sequence[str]) -> int:
    options = parser.parse_args(arguments)
    run: Callable[[argparse.Namespace, Path], int] = options.run
    return exit_code_of(parser.prog, lambda: run(options, Path.cwd()))
