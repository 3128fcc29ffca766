"""Command-line options of the generator."""

import argparse
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from clientgo.codegen.names import is_dotted

COMMAND = "clientgo-codegen"

SUBPACKAGES = {
    "client": ("clientset", "types"),
    "lister": ("listers",),
    "informer": ("informers",),
    "applyconfiguration": ("applyconfigurations",),
    "openapi": ("openapi",),
}
"""Generators of modules, and the subpackages that they write."""

FOLDERS = {"crd": "crd_dir", "rbac": "rbac_dir", "webhook": "webhook_dir", "openapi": "openapi_dir"}
GENERATORS = tuple(dict.fromkeys((*SUBPACKAGES, *FOLDERS)))


def path(text: str) -> Path:
    """Parse a path; text of a configuration file may be invalid."""
    if "\0" in text:
        raise argparse.ArgumentTypeError("invalid path: contains NUL")
    return Path(text)


def dotted(text: str) -> str:
    """Parse a dotted module name."""
    if not is_dotted(text):
        raise argparse.ArgumentTypeError(f"invalid module name {text!r}: expected a dotted name such as project.api.v1")
    return text


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add all options to the parser."""
    add = parser.add_argument
    several: Mapping[str, Any] = {"action": "append", "default": []}
    module = partial(add, type=dotted, metavar="MODULE", **several)
    file = partial(add, type=path, metavar="FILE", **several)
    module("--input-module", "--input", dest="input", help="module with @api_type classes; repeatable")
    file("--from-crd", help="third-party CRD; repeatable")
    file("--from-openapi", help="third-party OpenAPI v3 document; repeatable")
    add("--built-in", action="store_true", help="generate clientgo.kubernetes from the models of the official client")
    module("--declarations", help="module with @rbac and @admission_webhook; repeatable")
    add("--output-package", type=dotted, metavar="PACKAGE", help="dotted name of the generated package")
    names = f"some of {','.join(GENERATORS)} (default: all with an output folder)"
    add("--generators", metavar="NAMES", help=names)
    for name, option in FOLDERS.items():
        add(f"--{option.replace('_', '-')}", type=path, metavar="DIR", help=f"output folder of the generator {name}")
    file("--patch-schema", help="hand-written CRD whose schemas are replaced; repeatable")
    add("--role-name", default="manager-role", help="name of the generated role (default: %(default)s)")
    add("--role-namespace", default="", metavar="NAMESPACE", help="restrict the generated role to one namespace")
    add("--allow-floats", action="store_true", help="allow float fields")
    add("--embedded-metadata", action="store_true", help="describe embedded metadata in schemas")
    add("--max-description", type=int, metavar="N", help="limit descriptions in CRDs to N characters; 0 removes them")
    header = "header of the generated files (comment lines)"
    add("--boilerplate", "--header", dest="header", type=path, metavar="FILE", help=header)
    root = "root of the output folders (default: current folder)"
    add("--root", type=path, default=Path(), metavar="DIR", help=root)
    add("--command", default=COMMAND, help="command named in generated files (default: %(default)s)")
    verify = "write nothing; print a diff and fail if files are out of date"
    add("--verify", action="store_true", help=verify)


def chosen(options: argparse.Namespace, parser: argparse.ArgumentParser) -> set[str]:
    """Return the generators to run; exit if the options conflict."""
    possible = {name for name, option in FOLDERS.items() if getattr(options, option) is not None}
    if options.output_package is not None:
        possible |= set(SUBPACKAGES)
    if not possible and not options.patch_schema and not options.built_in:
        parser.error("no output folder: give --output-package, --crd-dir, --rbac-dir or another folder")
    if options.generators is None:
        return possible
    requested = set(filter(None, options.generators.split(",")))
    for name in sorted(requested - possible):
        if name in SUBPACKAGES:
            parser.error(f"--generators {name} requires --output-package")
        if name in FOLDERS:
            parser.error(f"--generators {name} requires --{FOLDERS[name].replace('_', '-')}")
        parser.error(f"unknown generator {name!r}: expected some of {', '.join(GENERATORS)}")
    return requested
