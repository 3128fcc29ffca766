"""The command that makes `clientgo.kubernetes` (and its fake clientset) from the official client's models.

python -m clientgo.codegen.builtin --header hack/boilerplate.py.txt [--verify]
"""

import argparse
import sys
from collections.abc import Iterator, Sequence

from clientgo.codegen.builtin.applymodules import DOC as APPLY_DOC
from clientgo.codegen.builtin.applymodules import apply_texts
from clientgo.codegen.builtin.groups import OFFICIAL_VERSION, OfficialKind, installed_release, plain_name
from clientgo.codegen.builtin.survey import Survey, survey
from clientgo.codegen.builtin.typemodules import type_texts
from clientgo.codegen.cli import add_options, complain, finish, header_of, with_header
from clientgo.codegen.model import Kind
from clientgo.codegen.render import render
from clientgo.codegen.texts import Layout, Text
from clientgo.meta.plural import plural_of
from clientgo.meta.scheme import ALL_VERBS, ApiType, Scale

PACKAGE = "clientgo.kubernetes"
SOURCE = f"the models of kubernetes {OFFICIAL_VERSION}"
_TYPES_DOC = """Types of the built-in kinds, one module for each group version.

A module offers every type its kinds reach, wherever it is defined: `pods`, `volumes` and `shared` are there so that
importing one group loads no other. What fields are said to mean is the first sentence of the Kubernetes API's own
description (Apache-2.0, The Kubernetes Authors).
"""
LAYOUT = Layout(
    package=PACKAGE,
    clients="clients",
    clientset="clientset",
    fake="clientgo.testing.kubernetes",
    lazy=True,
    beside_runtime=True,
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Generate or verify; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m clientgo.codegen.builtin", description="Generate the built-in kinds."
    )
    add_options(parser)
    options = parser.parse_args(arguments)
    installed = installed_release()
    if installed != OFFICIAL_VERSION:
        return complain(
            [
                f"the built-in kinds are made from kubernetes {OFFICIAL_VERSION} and {installed} is installed: install "
                f"that one, or raise OFFICIAL_VERSION in clientgo/codegen/builtin/groups.py"
            ]
        )
    try:
        header = header_of(options)
    except OSError as error:
        return complain([f"the header can't be read: {error}"])
    texts = with_header(builtin_texts(survey()), options.root, header)
    return finish(texts, [options.root / "clientgo/kubernetes"], options, header)


def builtin_texts(found: Survey) -> Iterator[Text]:
    """Every module of the package, and the fake clientset."""
    yield Text(f"{PACKAGE}.types", f'"""{_TYPES_DOC}"""\n', (SOURCE,), is_package=True)
    for module, body in type_texts(found, PACKAGE):
        yield Text(f"{PACKAGE}.types.{module}", body, (SOURCE,))
    yield Text(f"{PACKAGE}.applyconfigurations", f'"""{APPLY_DOC}"""\n', (SOURCE,), is_package=True)
    for module, body in apply_texts(found, PACKAGE):
        yield Text(f"{PACKAGE}.applyconfigurations.{module}", body, (SOURCE,))
    kinds = [_kind(module, kind) for module, group in found.kinds.items() for kind in group if kind.verbs]
    yield from render(kinds, LAYOUT)


def _kind(module: str, official: OfficialKind) -> Kind:
    name = plain_name(official.model.__name__)
    api = ApiType(
        group=official.group,
        version=official.version,
        kind=name,
        plural=plural_of(name.lower()),
        singular=name.lower(),
        scope="Namespaced" if official.namespaced else "Cluster",
        status=official.status,
        scale=Scale(".spec.replicas", ".status.replicas") if official.scale else None,
        verbs=tuple(verb for verb in ALL_VERBS if verb in official.verbs),
    )
    return Kind(api=api, class_name=name, module=f"{PACKAGE}.types.{module}", source=SOURCE)


if __name__ == "__main__":
    sys.exit(main())
