"""Types of the expressions of validating admission policies, by the published schemas of the kinds that they match."""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from clientgo_apiserver.api.resources import Object, Registry, Resource
from clientgo_apiserver.cel import types
from clientgo_apiserver.cel.admission import AdmissionScope, compile_typed
from clientgo_apiserver.cel.environment import InvalidExpression
from clientgo_apiserver.cel.types import ExprType
from clientgo_apiserver.crds.declarations import SchemaType, declare
from clientgo_apiserver.registry import openapi

_MAX_KINDS = 10  # for which a policy is checked (maxTypesToCheck)
_KINDS = "x-kubernetes-group-version-kind"
_PARAMS = "params"

KindNames = tuple[str, str, str]
Schemas = Mapping[str, Object]


def expression_warnings(registry: Registry, spec: Object) -> Iterator[Object]:
    """Yield a warning for each expression of a policy that does not fit all kinds that its rules name."""
    params, variables = _params(registry, spec), spec.get("variables") or ()
    checks = [
        _TypeCheck(kind, declared, params, variables)
        for kind in _kinds(registry, spec)
        if (declared := _declared(registry, kind, "object")) is not None
    ]
    for index, validation in enumerate(spec.get("validations") or ()):
        for field in ("expression", "messageExpression"):
            if source := validation.get(field):
                errors = [text for check in checks if (text := check.error(source))]
                if errors:
                    yield {"fieldRef": f"spec.validations[{index}].{field}", "warning": "\n".join(errors)}


def _kinds(registry: Registry, spec: Object) -> list[KindNames]:
    """Return the kinds that the rules name without wildcards, ordered."""
    kinds: dict[KindNames, None] = {}
    for rule in (spec.get("matchConstraints") or {}).get("resourceRules") or ():
        named = (each for each in registry.resources() if _names(rule, each))
        kinds |= dict.fromkeys(sorted((each.group, each.version, each.kind) for each in named))
    return sorted([*kinds][:_MAX_KINDS])


def _params(registry: Registry, spec: Object) -> SchemaType | None:
    """Return the type of the parameters; one without fields if nothing is known of them, None without any."""
    if "paramKind" not in spec:
        return None
    group, _, version = spec["paramKind"]["apiVersion"].rpartition("/")
    return _declared(registry, (group, version, spec["paramKind"]["kind"]), _PARAMS) or SchemaType(types.DYN, 0)


def _declared(registry: Registry, kind: KindNames, name: str) -> SchemaType | None:
    """Return the published type of a kind; None if there is none."""
    document = openapi.of(registry).document(openapi.path_of(*kind[:2]))
    if document is None:
        return None
    schemas: Schemas = msgspec.json.decode(document)["components"]["schemas"]
    identity = dict(zip(("group", "version", "kind"), kind, strict=True))
    schema = next((each for each in schemas.values() if identity in each.get(_KINDS, ())), None)
    return None if schema is None else declare(_expanded(schema, schemas, ()), name)


def _names(rule: Object, resource: Resource) -> bool:
    """Return whether a rule names a resource without wildcards; an empty group is any, as for client-go's mapper."""
    groups, versions = rule.get("apiGroups") or (), rule.get("apiVersions") or ()
    if any("*" in text for text in (*groups, *versions)):
        return False
    is_of_group = resource.group in groups or "" in groups
    return is_of_group and resource.version in versions and resource.plural in (rule.get("resources") or ())


def _expanded(schema: Object, schemas: Schemas, parents: tuple[str, ...]) -> Object:
    """Return a published schema with those it refers to in place of the references; one within itself is empty."""
    variants = (schema, *schema.get("allOf", ()))
    reference = next((variant["$ref"] for variant in variants if "$ref" in variant), "").rpartition("/")[2]
    if reference:
        return {} if reference in parents else _expanded(schemas[reference], schemas, (*parents, reference))
    if schema.get("format") == "int-or-string":
        return {"x-kubernetes-int-or-string": True}
    expanded = dict(schema)
    for member in ("items", "additionalProperties"):
        if isinstance(schema.get(member), dict):
            expanded[member] = _expanded(schema[member], schemas, parents)
    properties = schema.get("properties") or {}
    return {**expanded, "properties": {name: _expanded(below, schemas, parents) for name, below in properties.items()}}


class _TypeCheck:
    """Types of the variables of a policy's expressions for one of its kinds."""

    def __init__(
        self, kind: KindNames, declared: SchemaType, params: SchemaType | None, variables: Sequence[Object]
    ) -> None:
        group, version, name = kind
        self._kind = f"{group}/{version}, Kind={name}"
        self._types = dict.fromkeys(("object", "oldObject"), declared.type)
        self._structs = dict(declared.structs())
        if params is not None:
            self._types[_PARAMS] = params.type
            self._structs |= params.structs()
        self._composed: tuple[tuple[str, ExprType], ...] = ()
        for variable in variables:
            try:
                result = self._compile(variable["expression"])
            except InvalidExpression:
                result = types.DYN  # as upstream: only expressions that are validated have warnings
            self._composed += ((variable["name"], result),)

    def error(self, source: str) -> str:
        """Return the errors of an expression with the kind for which it has them, or ""."""
        try:
            self._compile(source)
        except InvalidExpression as error:
            return f"{self._kind}: {error}\n"
        return ""

    def _compile(self, source: str) -> ExprType:
        return compile_typed(source, AdmissionScope(composed=self._composed), self._types, self._structs).result
