"""Generation of `clientgo.kubernetes` and its fake clientset from one release of the official client."""

import argparse
from collections.abc import Iterator

from clientgo.codegen.builtin.groups import (
    EXPANSIONS,
    METHODS,
    OFFICIAL_VERSION,
    OfficialKind,
    OfficialMethod,
    installed_release,
    plain_name,
)
from clientgo.codegen.builtin.modules import APPLY_DOC, apply_texts, type_texts
from clientgo.codegen.builtin.survey import Survey, survey
from clientgo.codegen.files import header_of, with_header
from clientgo.codegen.generate import Output
from clientgo.codegen.model import Expansions, Kind, Method
from clientgo.codegen.problems import Problems
from clientgo.codegen.render.applyconfigurations import package_text
from clientgo.codegen.render.clients import render
from clientgo.codegen.render.templatefiles import Layout, Text
from clientgo.meta.scheme import ALL_VERBS, ApiType, ScaleSubresource, plural_of

PACKAGE = "clientgo.kubernetes"
SOURCE = f"the models of kubernetes {OFFICIAL_VERSION}"
_TYPES_DOC = """Types of the built-in kinds, one module for each group version.

A module offers every type its kinds reach, wherever it is defined: `pods`, `volumes` and `shared` are there so that
importing one group loads no other. Descriptions of fields are the first sentence of the description in the
Kubernetes API (Apache-2.0, The Kubernetes Authors).
"""
LAYOUT = Layout(
    package=PACKAGE,
    clients="clients",
    clientset="clientset",
    scheme="scheme",
    fake="clientgo.testing.kubernetes",
    lazy=True,
    beside_runtime=True,
)


def generate_builtin(options: argparse.Namespace, problems: Problems) -> Output:
    """Return the files of the package, or report a problem if another release of the official client is installed.

    Raises:
        OSError: the header cannot be read.
    """
    installed = installed_release()
    if installed != OFFICIAL_VERSION:
        told = f"the built-in kinds are made from kubernetes {OFFICIAL_VERSION} and {installed} is installed"
        problems.at_module(
            "clientgo/codegen/builtin/groups.py", 0, f"{told}: install that one, or raise OFFICIAL_VERSION here"
        )
        return Output()
    texts = with_header(builtin_texts(survey()), options.root, header_of(options))
    return Output(texts, [options.root / "clientgo/kubernetes"])


def builtin_texts(found: Survey) -> Iterator[Text]:
    """Yield the modules of the package, and the fake clientset."""
    yield Text(f"{PACKAGE}.types", f'"""{_TYPES_DOC}"""\n', (SOURCE,), is_package=True)
    for module, body in type_texts(found, PACKAGE):
        yield Text(f"{PACKAGE}.types.{module}", body, (SOURCE,))
    kinds = [_kind(module, kind) for module, group in found.kinds.items() for kind in group if kind.verbs]
    places = {
        kind: kind.module.replace(".types.", ".applyconfigurations.") for kind in kinds if "apply" in kind.api.verbs
    }
    yield Text(f"{PACKAGE}.applyconfigurations", package_text(APPLY_DOC, places, LAYOUT), (SOURCE,), is_package=True)
    for module, body in apply_texts(found, PACKAGE):
        yield Text(f"{PACKAGE}.applyconfigurations.{module}", body, (SOURCE,))
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
        scale=ScaleSubresource(".spec.replicas", ".status.replicas") if official.scale else None,
        verbs=tuple(verb for verb in ALL_VERBS if verb in official.verbs),
    )
    place = f"{PACKAGE}.types.{module}"
    key = (official.group, name)
    methods = tuple(_method(method, name, place) for method in METHODS.get(key, ()))
    expansions = Expansions(client=EXPANSIONS.get(key, ""))
    return Kind(api=api, class_name=name, module=place, source=SOURCE, methods=methods, expansions=expansions)


def _method(official: OfficialMethod, kind: str, place: str) -> Method:
    body = f"{place}:{plain_name(official.body) or kind}"
    return Method(name=official.name, verb=official.verb, subresource=official.subresource, input=body, result=body)
