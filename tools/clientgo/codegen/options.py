"""Command-line options of the generator."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from clientgo.codegen.names import is_dotted
from clientgo.program.commandline import FlagParser, flag
from clientgo.program.flags import natural

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
"""Generators of manifests, and the options of their folders."""

GENERATORS = tuple(dict.fromkeys((*SUBPACKAGES, *FOLDERS)))

_INPUTS, _OUTPUTS, _CONTENTS, _RUN = "inputs", "outputs", "contents", "run"


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


def generator_names(text: str) -> frozenset[str]:
    """Parse comma-separated names of generators."""
    names = frozenset(filter(None, text.split(",")))
    for name in sorted(names.difference(GENERATORS)):
        raise argparse.ArgumentTypeError(f"unknown generator {name!r}: expected some of {', '.join(GENERATORS)}")
    return names


@dataclass(frozen=True)
class CodegenOptions:
    """Options of one output."""

    input: tuple[str, ...] = flag(
        (), "module with @api_type classes; repeatable", "--input-module", "--input", group=_INPUTS, type=dotted,
        metavar="MODULE",
    )  # fmt: skip
    from_crd: tuple[Path, ...] = flag((), "third-party CRD; repeatable", group=_INPUTS, type=path, metavar="FILE")
    from_openapi: tuple[Path, ...] = flag(
        (), "third-party OpenAPI v3 document; repeatable", group=_INPUTS, type=path, metavar="FILE"
    )
    built_in: bool = flag(False, "generate clientgo.kubernetes from the models of the official client", group=_INPUTS)
    declarations: tuple[str, ...] = flag(
        (), "module or package with @rbac and @admission_webhook; repeatable", group=_INPUTS, type=dotted,
        metavar="MODULE",
    )  # fmt: skip
    output_package: str | None = flag(
        None, "dotted name of the generated package", group=_OUTPUTS, type=dotted, metavar="PACKAGE"
    )
    crd_dir: Path | None = flag(None, "output folder of the generator crd", group=_OUTPUTS, type=path, metavar="DIR")
    rbac_dir: Path | None = flag(None, "output folder of the generator rbac", group=_OUTPUTS, type=path, metavar="DIR")
    webhook_dir: Path | None = flag(
        None, "output folder of the generator webhook", group=_OUTPUTS, type=path, metavar="DIR"
    )
    openapi_dir: Path | None = flag(
        None, "output folder of the generator openapi", group=_OUTPUTS, type=path, metavar="DIR"
    )
    patch_schema: tuple[Path, ...] = flag(
        (), "hand-written CRD whose schemas are replaced; repeatable", group=_OUTPUTS, type=path, metavar="FILE"
    )
    generators: frozenset[str] | None = flag(
        None, f"some of {','.join(GENERATORS)} (default: all with an output folder)", group=_OUTPUTS,
        type=generator_names, metavar="NAMES",
    )  # fmt: skip
    root: Path = flag(
        Path(), "root of the output folders (default: current folder)", group=_OUTPUTS, type=path, metavar="DIR"
    )
    role_name: str = flag("manager-role", "name of the generated role (default: manager-role)", group=_CONTENTS)
    role_namespace: str = flag("", "restrict the generated role to one namespace", group=_CONTENTS, metavar="NAMESPACE")
    allow_floats: bool = flag(False, "allow float fields", group=_CONTENTS)
    embedded_metadata: bool = flag(False, "describe embedded metadata in schemas", group=_CONTENTS)
    max_description: int | None = flag(
        None, "limit descriptions in CRDs to N characters; 0 removes them", group=_CONTENTS, type=natural, metavar="N"
    )
    header: Path | None = flag(
        None, "header of the generated files (comment lines)", "--boilerplate", "--header", group=_CONTENTS,
        type=path, metavar="FILE",
    )  # fmt: skip
    command: str = flag(COMMAND, f"command named in generated files (default: {COMMAND})", group=_CONTENTS)
    config: Path | None = flag(
        None, "YAML file with these options, for several outputs", group=_RUN, type=path, metavar="FILE"
    )
    verify: bool = flag(False, "write nothing; print a diff and fail if files are out of date", group=_RUN)

    @property
    def selected(self) -> frozenset[str]:
        """Generators to run."""
        return self._possible if self.generators is None else self.generators

    @property
    def _possible(self) -> frozenset[str]:
        """Generators with an output folder."""
        names = [name for name, option in FOLDERS.items() if getattr(self, option) is not None]
        return frozenset([*names, *(SUBPACKAGES if self.output_package is not None else ())])

    @property
    def conflict(self) -> str:
        """Error in the combination of the options, or ""."""
        if not self._possible and not self.patch_schema and not self.built_in:
            return "no output folder: give --output-package, --crd-dir, --rbac-dir or another folder"
        for name in sorted(self.selected - self._possible):
            needed = "output-package" if name in SUBPACKAGES else FOLDERS[name].replace("_", "-")
            return f"--generators {name} requires --{needed}"
        return ""


def options_parser(*, prog: str = COMMAND, usage: str | None = None) -> FlagParser[CodegenOptions]:
    """Return a parser of the options; `usage` replaces the usage that errors begin with."""
    description = "Generate code and manifests from @api_type dataclasses or third-party CRDs."
    return FlagParser(CodegenOptions, prog=prog, description=description, usage=usage)


def options_of(config: Path | None, outputs: Sequence[Sequence[str]]) -> list[CodegenOptions]:
    """Parse the options of each output; exit if they are invalid or conflict.

    Errors name the output of a configuration file instead of the command.
    """
    parsed = []
    for number, arguments in enumerate(outputs):
        parser = options_parser()
        if config is not None:
            parser = options_parser(prog=f"{config}: outputs[{number}]", usage=argparse.SUPPRESS)
        options = parser.parse(arguments)
        if options.conflict:
            parser.error(options.conflict)
        parsed.append(options)
    return parsed
