"""The generator's command: modules of `@api_type` dataclasses to clients, listers, informers and CRDs.

    python -m clientgo.codegen --input controller.api.v1alpha1 --output-package generated \\
        --crd-dir artifacts/crd --header hack/boilerplate.py.txt [--verify]
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from clientgo.codegen.cli import add_options, complain, finish, header_of, with_header
from clientgo.codegen.crd import crds, to_yaml
from clientgo.codegen.dataclassinput import OwnKind, read_modules
from clientgo.codegen.problems import Problems
from clientgo.codegen.render import render
from clientgo.codegen.texts import Layout
from clientgo.codegen.write import Header


def main(arguments: Sequence[str] | None = None) -> int:
    """Generate or verify; returns the exit code. Nothing is written when anything is wrong with the input."""
    options = _parser().parse_args(arguments)
    problems = Problems()
    kinds = read_modules(options.input, problems)
    try:
        header = header_of(options)
    except OSError as error:
        return complain([f"the header can't be read: {error}"])
    layout = Layout(package=options.output_package, beside_runtime=(options.root / "clientgo").is_dir())
    texts = with_header(render([own.kind for own in kinds], layout), options.root, header)
    folders = [options.root / options.output_package.replace(".", "/")]
    if options.crd_dir is not None:
        texts |= _manifests(kinds, problems, options, header)
        folders.append(options.root / options.crd_dir)
    if problems:
        return complain(problems)
    return finish(texts, folders, options, header)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m clientgo.codegen", description="Generate from @api_type dataclasses."
    )
    parser.add_argument("--input", action="append", required=True, metavar="MODULE", help="module of kinds; repeatable")
    parser.add_argument(
        "--output-package", required=True, metavar="PACKAGE", help="dotted name of the generated package"
    )
    parser.add_argument(
        "--crd-dir", type=Path, metavar="DIR", help="folder for CustomResourceDefinitions (default: none)"
    )
    parser.add_argument("--allow-floats", action="store_true", help="allow float fields")
    add_options(parser)
    return parser


def _manifests(
    kinds: Sequence[OwnKind], problems: Problems, options: argparse.Namespace, header: Header
) -> dict[Path, str]:
    folder = options.root / options.crd_dir
    found = crds(kinds, problems, allow_floats=options.allow_floats)
    texts = {folder / name: header.of(sources) + text for name, (text, sources) in found.items()}
    sources = sorted({source for _, of_file in found.values() for source in of_file})
    # Files alone: whoever adds a kind needs to change no other list.
    kustomization = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": sorted(found),
    }
    texts[folder / "kustomization.yaml"] = header.of(sources) + to_yaml(kustomization)
    return texts


if __name__ == "__main__":
    sys.exit(main())
