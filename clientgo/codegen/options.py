"""What the generator's command can be told: inputs, outputs, and which generators run."""

import argparse
from pathlib import Path

from clientgo.codegen.names import is_dotted

COMMAND = "hack/update-codegen.sh"

SUBPACKAGES = {
    "client": ("clientset", "types"),
    "lister": ("listers",),
    "informer": ("informers",),
    "applyconfiguration": ("applyconfigurations",),
    "openapi": ("openapi",),
}
"""Generators of modules, and the subpackages each writes."""

_FOLDERS = {"crd": "crd_dir", "rbac": "rbac_dir", "webhook": "webhook_dir", "openapi": "openapi_dir"}
GENERATORS = tuple(dict.fromkeys((*SUBPACKAGES, *_FOLDERS)))


def path(text: str) -> Path:
    """A path as an option; a configuration's text may be none."""
    if "\0" in text:
        raise argparse.ArgumentTypeError("a path holds no NUL")
    return Path(text)


def _add_common(parser: argparse.ArgumentParser) -> None:
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


def dotted(text: str) -> str:
    """The name of a module or package; it becomes part of programs and of paths."""
    if not is_dotted(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no dotted name, such as project.api.v1")
    return text


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of `python -m clientgo.codegen` that other generators don't have."""
    add = parser.add_argument
    add(
        "--input-module", "--input", dest="input", type=dotted, action="append", default=[], metavar="MODULE",
        help="module of kinds; repeatable",
    )  # fmt: skip
    for name, what in (("--from-crd", "CRD"), ("--from-openapi", "OpenAPI v3 document")):
        add(name, type=path, action="append", default=[], metavar="FILE", help=f"others' {what}; repeatable")
    add("--built-in", action="store_true", help="make clientgo.kubernetes, from the official client's models")
    for name, what in (
        ("--declarations", "with @rbac and @admission_webhook"),
        ("--expansions", "with FooListerExpansion, FooNamespaceListerExpansion, FooExpansion"),
    ):
        add(name, type=dotted, action="append", default=[], metavar="MODULE", help=f"module {what}; repeatable")
    _add_outputs(parser)
    _add_common(parser)


def _add_outputs(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--output-package", type=dotted, metavar="PACKAGE", help="dotted name of the generated package")
    add("--generators", metavar="NAMES", help=f"some of {','.join(GENERATORS)} (default: all that have a place to write"
        " to)")  # fmt: skip
    for name, option in _FOLDERS.items():
        add(f"--{option.replace('_', '-')}", type=path, metavar="DIR", help=f"folder for what {name} makes")
    add(
        "--patch-schema", type=path, action="append", default=[], metavar="FILE",
        help="CRD written by hand, in which only the schemas are replaced; repeatable",
    )  # fmt: skip
    add("--role-name", default="manager-role", help="name of the role of declared permissions (default: %(default)s)")
    add("--role-namespace", default="", metavar="NAMESPACE", help="limit declared permissions to one namespace")
    add("--allow-floats", action="store_true", help="allow float fields")
    add("--embedded-metadata", action="store_true", help="spell out metadata inside of objects in schemas")
    add("--max-description", type=int, metavar="N", help="cut descriptions in CRDs to N characters; 0 drops them")


def chosen(options: argparse.Namespace, parser: argparse.ArgumentParser) -> set[str]:
    """The generators to run; ends the program when they make no sense together."""
    possible = {name for name, option in _FOLDERS.items() if getattr(options, option) is not None}
    if options.output_package is not None:
        possible |= set(SUBPACKAGES)
    if not possible and not options.patch_schema and not options.built_in:
        parser.error("there is nowhere to write to: give --output-package, --crd-dir, --rbac-dir or another folder")
    if options.generators is None:
        return possible
    wanted = set(filter(None, options.generators.split(",")))
    for name in sorted(wanted - possible):
        if name in SUBPACKAGES:
            parser.error(f"--generators {name} needs --output-package")
        if name in _FOLDERS:
            parser.error(f"--generators {name} needs --{_FOLDERS[name].replace('_', '-')}")
        parser.error(f"there is no generator {name!r}: write some of {', '.join(GENERATORS)}")
    return wanted
