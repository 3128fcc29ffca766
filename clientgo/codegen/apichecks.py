"""What `@api_type` says, held against what an API server takes: names, paths, columns, verbs, required annotations."""

from collections.abc import Iterator
from typing import Any, get_args

from clientgo.codegen.apinames import LABEL, is_domain, is_kind
from clientgo.codegen.problems import Problems
from clientgo.meta.scheme import ALL_VERBS, ApiType, Scope, api_of

_COLUMN_TYPES = ("integer", "number", "string", "boolean", "date")
_APPROVAL = "api-approved.kubernetes.io"
_PROTECTED = ("k8s.io", "kubernetes.io")


def check_api(cls: type[Any], problems: Problems) -> None:
    """Tell what is wrong with a class' mark."""
    api = api_of(cls)
    for found in (_names(api), _paths(api), _versions(api)):
        for message in found:
            problems.at_class(cls, f"{cls.__name__}: {message}")


def _names(api: ApiType) -> Iterator[str]:
    if not is_domain(api.group):
        yield f"the group {api.group!r} is no domain: write one with a dot, such as samples.example.com"
    if not is_kind(api.kind):
        yield f"the kind {api.kind!r} is not in CamelCase: write kind= with a capital, letters and digits"
    labels = [("version", api.version), ("plural", api.plural), ("singular", api.singular)]
    labels += [("short name", name) for name in api.short_names] + [("category", name) for name in api.categories]
    for what, value in labels:
        if not LABEL.fullmatch(value):
            yield f"the {what} {value!r} is no DNS label: write small letters, digits and dashes, a letter first"
    if api.scope not in get_args(Scope):
        yield f"the scope {api.scope!r} is unknown: write one of {', '.join(get_args(Scope))}"
    for verb in api.verbs:
        if verb not in ALL_VERBS:
            yield f"the verb {verb!r} is unknown: write some of {', '.join(ALL_VERBS)}"


def _paths(api: ApiType) -> Iterator[str]:
    for column in api.columns:
        if column.type not in _COLUMN_TYPES:
            yield f"the column {column.name} has the type {column.type!r}: write one of {', '.join(_COLUMN_TYPES)}"
    simple = [(path, "") for path in (*(c.json_path for c in api.columns), *api.selectable_fields)]
    if api.scale is not None:
        simple += [(api.scale.spec_path, ".spec"), (api.scale.status_path, ".status")]
        simple += [(path, "") for path in (api.scale.selector_path,) if path]
    for path, below in simple:
        if not path.startswith(f"{below}."):
            yield f"the path {path!r} does not begin with {below}.: write one as in .spec.replicas"


def _versions(api: ApiType) -> Iterator[str]:
    protected = api.group.endswith(tuple(f".{domain}" for domain in _PROTECTED)) or api.group in _PROTECTED
    if protected and api.crd and _APPROVAL not in dict(api.annotations):
        yield (
            f"the group {api.group} belongs to Kubernetes, and its API server asks who approved of it: write another"
            f' group, or annotations=(("{_APPROVAL}", "unapproved, experimental-only"),)'
        )
    if api.deprecation_warning and not api.deprecated:
        yield "a deprecation_warning is for deprecated versions: write deprecated=True"
    if api.storage and not api.crd and api.verbs:
        yield "a version that is stored can't be left out of the CRD: write storage=False, or no crd=False"
