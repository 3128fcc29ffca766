"""Generation of `clientgo.kubernetes` and its fake clientset from one release of the official client."""

from collections.abc import Iterator

from clientgo.codegen.builtin.groups import CLIENT_BASES, METHODS, OFFICIAL_VERSION, installed_release, plain_name
from clientgo.codegen.builtin.modules import apply_module, type_module
from clientgo.codegen.builtin.survey import Survey, survey
from clientgo.codegen.files import Output, header_of
from clientgo.codegen.model import Kind, Method
from clientgo.codegen.options import CodegenOptions
from clientgo.codegen.problems import Problems
from clientgo.codegen.render.applyconfigurations import package_text
from clientgo.codegen.render.clients import render
from clientgo.codegen.render.templatefiles import Layout, Text
from clientgo.meta.scheme import ApiType

SOURCE = f"the models of kubernetes {OFFICIAL_VERSION}"
_TYPES_DOC = """Types of the built-in kinds, one module for each group version.

A module offers every type its kinds reach, wherever it is defined: `pods`, `volumes`, `core_events` and
`shared` are there so that importing one group loads no other. `clientgo explain KIND.FIELD` describes the
fields, and so does the API reference: https://kubernetes.io/docs/reference/kubernetes-api/
"""
_TYPES = f'''"""{_TYPES_DOC}"""

from typing import TYPE_CHECKING

from clientgo.internal.exports import import_from_modules

if not TYPE_CHECKING:
    __getattr__ = import_from_modules(__name__, __path__)
'''
_APPLY_DOC = "Apply configurations of the built-in kinds, one module for each group version."
LAYOUT = Layout(
    package="clientgo.kubernetes",
    clients="clients",
    clientset="clientset",
    scheme="scheme",
    fake="clientgo.testing.kubernetes",
    lazy=True,
    beside_runtime=True,
)


def generate_builtin(options: CodegenOptions, problems: Problems) -> Output:
    """Return the files of the package, or report a problem if another release of the official client is installed.

    Raises:
        CodegenError: the header cannot be read.
    """
    output, installed = Output(header_of(options)), installed_release()
    if installed != OFFICIAL_VERSION:
        problem = f"the built-in kinds are made from kubernetes {OFFICIAL_VERSION} and {installed} is installed"
        fix = "install that one, or raise OFFICIAL_VERSION here"
        problems.at_module("tools/clientgo/codegen/builtin/groups.py", 0, f"{problem}: {fix}")
        return output
    for text in builtin_texts(survey()):
        output.add_modules([text], options.root / "tools" if text.module == LAYOUT.fake else options.root)
    output.folders.append(options.root / "clientgo/kubernetes")
    return output


def builtin_texts(surveyed: Survey) -> Iterator[Text]:
    """Yield the modules of the package, and the fake clientset."""
    kinds = [_kind(module, kind.api) for module, group in surveyed.kinds.items() for kind in group if kind.api.verbs]
    places = {
        kind: kind.module.replace(".types.", ".applyconfigurations.") for kind in kinds if "apply" in kind.api.verbs
    }
    packages = {"types": _TYPES, "applyconfigurations": package_text(_APPLY_DOC, places, LAYOUT)}
    for package, body in packages.items():
        yield Text(LAYOUT.module(package), body, (SOURCE,), is_package=True)
    for module in sorted({*surveyed.places.values()}):
        yield Text(LAYOUT.module("types", module), type_module(surveyed, module, LAYOUT), (SOURCE,))
        yield Text(LAYOUT.module("applyconfigurations", module), apply_module(surveyed, module, LAYOUT), (SOURCE,))
    yield from render(kinds, LAYOUT)


def _kind(module: str, api: ApiType) -> Kind:
    module_path, key = LAYOUT.module("types", module), (api.group, api.kind)
    bodies = [(method, f"{module_path}:{plain_name(method.body) or api.kind}") for method in METHODS.get(key, ())]
    methods = tuple(
        Method(name=method.name, verb=method.verb, subresource=method.subresource, input=body, result=body)
        for method, body in bodies
    )
    base = CLIENT_BASES.get(key, "")
    return Kind(api=api, class_name=api.kind, module=module_path, source=SOURCE, methods=methods, client_base=base)
