"""What the generator's command can be told: inputs, outputs, and which generators run."""

import argparse
from pathlib import Path

SUBPACKAGES = {
    "client": ("clientset", "types"),
    "lister": ("listers",),
    "informer": ("informers",),
    "applyconfiguration": ("applyconfigurations",),
}
"""Generators of modules, and the subpackages each writes."""

_FOLDERS = {"crd": "crd_dir", "rbac": "rbac_dir", "webhook": "webhook_dir", "openapi": "openapi_dir"}


def add_inputs(parser: argparse.ArgumentParser) -> None:
    """The options of `python -m clientgo.codegen` that other generators don't have."""
    add = parser.add_argument
    add(
        "--input-module", "--input", dest="input", action="append", default=[], metavar="MODULE",
        help="module of kinds; repeatable",
    )  # fmt: skip
    for name, what in (("--from-crd", "CRD"), ("--from-openapi", "OpenAPI v3 document")):
        add(name, type=Path, action="append", default=[], metavar="FILE", help=f"others' {what}; repeatable")
    add(
        "--declarations", action="append", default=[], metavar="MODULE",
        help="module with @rbac and @admission_webhook; repeatable",
    )  # fmt: skip
    add("--output-package", required=True, metavar="PACKAGE", help="dotted name of the generated package")
    add("--generators", metavar="NAMES", help=f"some of {','.join((*SUBPACKAGES, *_FOLDERS))} (default: all that have"
        " a place to write to)")  # fmt: skip
    for name, option in _FOLDERS.items():
        add(f"--{option.replace('_', '-')}", type=Path, metavar="DIR", help=f"folder for what {name} makes")
    add("--role-name", default="manager-role", help="name of the role of declared permissions (default: %(default)s)")
    add("--allow-floats", action="store_true", help="allow float fields")
    add("--embedded-metadata", action="store_true", help="spell out metadata inside of objects in schemas")
    add("--max-description", type=int, metavar="N", help="cut descriptions in CRDs to N characters; 0 drops them")


def chosen(options: argparse.Namespace, parser: argparse.ArgumentParser) -> set[str]:
    """The generators to run; ends the program when they make no sense together."""
    possible = {*SUBPACKAGES, *(name for name, option in _FOLDERS.items() if getattr(options, option) is not None)}
    if options.generators is None:
        return possible
    wanted = set(filter(None, options.generators.split(",")))
    for name in sorted(wanted - possible):
        if name in _FOLDERS:
            parser.error(f"--generators {name} needs --{_FOLDERS[name].replace('_', '-')}")
        parser.error(f"there is no generator {name!r}: write some of {', '.join((*SUBPACKAGES, *_FOLDERS))}")
    return wanted
