"""Validation of CustomResourceDefinitions, with the real server's messages.

Paths are those of Kubernetes' internal type: what all versions have in common (schema, subresources, columns and
selectable fields) is at the spec, under other names.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from clientgo_apiserver.api.conditions import is_true
from clientgo_apiserver.api.names import label_1035_errors, subdomain_errors
from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.api.status import (
    Cause,
    duplicate,
    forbidden_field,
    invalid_value,
    not_supported,
    required,
    too_many,
)
from clientgo_apiserver.api.webhookclients import client_errors, review_version_errors
from clientgo_apiserver.crds.crdstatus import APPROVAL, approval_of, is_protected
from clientgo_apiserver.crds.fieldpaths import InvalidPath, find_field
from clientgo_apiserver.crds.goforms import go_form
from clientgo_apiserver.crds.schemarules import types_in_sets, unrecognized_formats, version_schema_errors
from clientgo_apiserver.releases.release import current

Causes = Iterator[Cause]

_SCOPES, _STRATEGIES = ("Cluster", "Namespaced"), ("None", "Webhook")
_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_SELECTABLE, _MOST_SELECTABLE = ("string", "boolean", "integer"), 8
_MAX_WARNING = 256
# Fields of versions, with the places where the internal type has them if all versions have the same.
_COMMON = {
    "schema": "validation",
    "subresources": "subresources",
    "additionalPrinterColumns": "additionalPrinterColumns",
    "selectableFields": "selectableFields",
}
# Paths of the scale subresource: whether each is required, the fields below which it must be, and these in words.
_SCALE = (
    ("specReplicasPath", True, (".spec.",), ".spec"),
    ("statusReplicasPath", True, (".status.",), ".status"),
    ("labelSelectorPath", False, (".spec.", ".status."), "either .spec or .status"),
)
_NOT_STORED = (
    "missing from spec.versions; {0} was previously a storage version, and must remain in spec.versions until a storage"
    " migration ensures no data remains persisted in {0} and removes {0} from status.storedVersions"
)
_PRESERVING = "set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"


def definition_errors(definition: Object, old: Object | None = None) -> list[Cause]:
    """Return the errors of a definition; `old` is the one it replaces."""
    spec, meta = definition["spec"], definition["metadata"]
    expected = f"{spec['names'].get('plural') or ''}.{spec.get('group') or ''}"
    wrong = [field for field in ("generateName", "name") if old is None and meta.get(field, expected) != expected]
    reason = 'must be spec.names.plural+"."+spec.group'
    causes = [invalid_value(f"metadata.{field}", meta[field], reason) for field in wrong]
    causes += _spec_errors(spec)
    if old is not None:
        causes += _changed(definition, old)
    causes += _stored_errors((definition.get("status") or {}).get("storedVersions"), spec.get("versions") or [])
    causes += _approval_errors(spec.get("group") or "", meta, old)
    if spec.get("preserveUnknownFields"):
        causes.append(invalid_value("spec.preserveUnknownFields", True, f"cannot set to true, {_PRESERVING}"))
    return causes


def definition_warnings(definition: Object, old: Object | None = None) -> list[str]:
    """Return the warnings about a definition: ignored formats, and sets of objects; not those that an old one had."""
    old_formats, formats = set(_formats(old) if old is not None else ()), _formats(definition)
    warnings = [f'unrecognized format "{name}"' for name in formats if name not in old_formats]
    if current().at_least("1.37"):
        new_sets = _types_in_sets(definition) - (_types_in_sets(old) if old is not None else set())
        warnings += [_SET_WARNING.format(kind) for kind in sorted(new_sets)]
    return warnings


_SET_WARNING = (
    'x-kubernetes-list-type: set for items of type "{}" is not supported by server-side apply or CEL validation rules'
)


def _types_in_sets(definition: Object) -> set[str]:
    return {kind for schema in _schemas(definition) for kind in types_in_sets(schema)}


def _formats(definition: Object) -> list[str]:
    return [name for schema in _schemas(definition) for name in unrecognized_formats(schema)]


def _schemas(definition: Object) -> Iterator[Object]:
    schemas = ((version.get("schema") or {}).get("openAPIV3Schema") for version in definition["spec"]["versions"])
    return filter(None, schemas)


def _changed(definition: Object, old: Object) -> Causes:
    """Yield an error for each immutable field that changed."""
    fields = [("scope",), ("names", "kind")] if is_true(old, "Established") else []
    for path in (*fields, ("group",), ("names", "plural")):
        new_value, old_value = definition["spec"], old["spec"]
        for part in path:
            new_value, old_value = new_value.get(part), old_value.get(part)
        if new_value != old_value:
            yield invalid_value(f"spec.{'.'.join(path)}", new_value, "field is immutable")


def _spec_errors(spec: Object) -> Causes:
    group, scope, versions = spec.get("group") or "", spec.get("scope"), spec.get("versions") or []
    if not group:
        yield required("spec.group")
    elif errors := subdomain_errors(group):
        yield invalid_value("spec.group", group, ",".join(errors))
    elif "." not in group:
        yield invalid_value("spec.group", group, "should be a domain with at least one dot")
    if scope not in _SCOPES:
        yield not_supported("spec.scope", scope, _SCOPES) if scope else required("spec.scope")
    for index, version in enumerate(versions):
        if (version.get("schema") or {}).get("openAPIV3Schema") is None:
            yield required(f"spec.versions[{index}].schema.openAPIV3Schema")
    if spec.get("preserveUnknownFields") and any(_has_default(version.get("schema")) for version in versions):
        yield invalid_value("spec.preserveUnknownFields", True, "must be false in order to use defaults in the schema")
    common = {field for field in _COMMON if _is_common(versions, field)}
    yield from _versions_errors(spec.get("versions"), common)
    yield from _names_errors(spec["names"])
    if versions:
        shared = {field: value for field, value in versions[0].items() if field in common}
        status = any("status" in (version.get("subresources") or {}) for version in versions)
        yield from _parts_errors(shared, {field: f"spec.{_COMMON[field]}" for field in common}, status=status)
    yield from _conversion_errors(spec.get("conversion") or {}, preserving=bool(spec.get("preserveUnknownFields")))


def _is_common(versions: Sequence[Object], field: str) -> bool:
    return all(version.get(field, []) == versions[0].get(field, []) for version in versions)


def _has_default(schema: Any) -> bool:
    if isinstance(schema, dict):
        return "default" in schema or any(map(_has_default, schema.values()))
    return isinstance(schema, list) and any(map(_has_default, schema))


def _versions_errors(declared: list[Object] | None, common: set[str]) -> Causes:
    versions = declared or []
    names = [version.get("name") or "" for version in versions]
    for index, version in enumerate(versions):
        field_path = f"spec.versions[{index}]"
        if errors := label_1035_errors(names[index]):
            yield invalid_value(f"{field_path}.name", names[index], ",".join(errors))
        for reason in _warning_errors(version):
            yield invalid_value(f"{field_path}.deprecationWarning", version["deprecationWarning"], reason)
        fields = {field: f"{field_path}.{field}" for field in _COMMON if field not in common}
        yield from _parts_errors(version, fields, status="status" in (version.get("subresources") or {}))
    forms = None if declared is None else [_go_version(version, common) for version in versions]
    if len(set(names)) != len(names):
        yield invalid_value("spec.versions", forms, "must contain unique version names")
    if len([version for version in versions if version.get("storage")]) != 1:
        yield invalid_value("spec.versions", forms, "must have exactly one version marked as storage version")
    if names and names[0] and (errors := label_1035_errors(names[0])):
        yield invalid_value("spec.version", names[0], ",".join(errors))


def _go_version(version: Object, common: set[str]) -> Object:
    """Return a version as Go prints the internal type."""
    fields = {field: value for field, value in version.items() if field not in common}
    form: Object = go_form(fields, "CustomResourceDefinitionVersion")
    return form


def _warning_errors(version: Object) -> Iterator[str]:
    warning = version.get("deprecationWarning")
    if warning is None:
        return
    if not version.get("deprecated"):
        yield "can only be set for deprecated versions"
        return
    if len(warning.encode()) > _MAX_WARNING:
        yield f"must be <= {_MAX_WARNING} characters long"
    if not warning:
        yield "must not be an empty string"
    for index, character in enumerate(warning):
        if not character.isprintable():
            offset = len(warning[:index].encode())
            yield f"must only contain printable UTF-8 characters; non-printable character found at index {offset}"
            break


def _names_errors(names: Object) -> Causes:
    for field in ("plural", "singular", "kind", "listKind"):
        if not names.get(field):
            yield required(f"spec.names.{field}")
    kind, list_kind = names.get("kind") or "", names.get("listKind") or ""
    cased = "may have mixed case, but should otherwise match: "
    for field in ("plural", "singular", "kind", "listKind"):
        name, is_kind = names.get(field) or "", field.lower().endswith("kind")
        errors = label_1035_errors(name.lower() if is_kind else name)
        if name and errors:
            yield invalid_value(f"spec.names.{field}", name, f"{cased if is_kind else ''}{','.join(errors)}")
    yield from _label_errors(names, "shortNames")
    if kind and kind == list_kind:
        yield invalid_value("spec.names.listKind", kind, "kind and listKind may not be the same")
    yield from _label_errors(names, "categories")


def _label_errors(names: Object, field: str) -> Causes:
    for index, name in enumerate(names.get(field) or ()):
        if errors := label_1035_errors(name):
            yield invalid_value(f"spec.names.{field}[{index}]", name, ",".join(errors))


def _parts_errors(version: Object, places: dict[str, str], *, status: bool) -> Causes:
    """Check the parts of a version that have a place here."""
    schema = (version.get("schema") or {}).get("openAPIV3Schema")
    if "schema" in places and schema is not None:
        yield from version_schema_errors(schema, f"{places['schema']}.openAPIV3Schema", status=status)
    scale = (version.get("subresources") or {}).get("scale")
    if "subresources" in places and scale is not None:
        yield from _scale_errors(scale, f"{places['subresources']}.scale")
    if "additionalPrinterColumns" in places:
        for index, column in enumerate(version.get("additionalPrinterColumns") or ()):
            yield from _column_errors(column, f"{places['additionalPrinterColumns']}[{index}]")
    if "selectableFields" in places and version.get("selectableFields"):
        if schema is None:
            is_common = places["selectableFields"] == "spec.selectableFields"
            words = "validations.schema is" if is_common else "`version.schema.openAPIV3Schema` is not"
            yield invalid_value(places["selectableFields"], "", f"may only be set when {words} included")
        else:
            yield from _selectable_errors(version["selectableFields"], schema, places["selectableFields"])


def _scale_errors(scale: Object, field_path: str) -> Causes:
    for field, needed, parents, words in _SCALE:
        path = scale.get(field) or ""
        if not path and needed:
            yield required(f"{field_path}.{field}")
        elif path and not path.startswith("."):
            yield invalid_value(f"{field_path}.{field}", path, "must be a simple json path starting with .")
        elif path and not path.startswith(parents):
            yield invalid_value(f"{field_path}.{field}", path, f"should be a json path under {words}")


def _column_errors(column: Object, field_path: str) -> Causes:
    kind, path, pattern = column.get("type") or "", column.get("jsonPath") or "", column.get("format") or ""
    if not column.get("name"):
        yield required(f"{field_path}.name")
    if kind not in _COLUMN_TYPES:
        reason = f"must be one of {','.join(_COLUMN_TYPES)}"
        yield invalid_value(f"{field_path}.type", kind, reason) if kind else required(f"{field_path}.type", reason)
    if pattern and pattern not in _COLUMN_FORMATS:
        yield invalid_value(f"{field_path}.format", pattern, f"must be one of {','.join(_COLUMN_FORMATS)}")
    if not path:
        yield required(f"{field_path}.JSONPath")
    elif not path.startswith("."):
        yield invalid_value(f"{field_path}.JSONPath", path, "must be a simple json path starting with .")


def _selectable_errors(fields: list[Object], schema: Object, field_path: str) -> Causes:
    selected: list[list[str]] = []
    for index, selectable in enumerate(fields):
        field, path = f"{field_path}[{index}].jsonPath", selectable.get("jsonPath") or ""
        if not path:
            yield required(field)
            continue
        try:
            names, schema_at_end = find_field(schema, path, brackets=False)
        except InvalidPath as error:
            yield invalid_value(field, path, f"is an invalid path: {error}")
            continue
        if names[0] == "metadata":
            yield invalid_value(field, path, "must not point to fields in metadata")
        if schema_at_end.get("type") not in _SELECTABLE:
            reason = "must point to a field of type string, boolean or integer."
            yield invalid_value(field, path, f"{reason} Enum string fields and strings with formats are allowed.")
        if names in selected:
            yield duplicate(field, path)
        else:
            selected.append(names)
    if len(selected) > _MOST_SELECTABLE:
        yield too_many(field_path, len(selected), _MOST_SELECTABLE)


def _conversion_errors(conversion: Object, *, preserving: bool) -> Causes:
    strategy, webhook, field_path = conversion.get("strategy") or "", conversion.get("webhook") or {}, "spec.conversion"
    client, reviews = webhook.get("clientConfig"), webhook.get("conversionReviewVersions") or []
    if preserving and strategy != "None":
        yield invalid_value(f"{field_path}.strategy", strategy, "must be None if spec.preserveUnknownFields is true")
    if strategy not in _STRATEGIES:
        field = f"{field_path}.strategy"
        yield not_supported(field, strategy, _STRATEGIES) if strategy else required(field)
    if strategy != "Webhook":
        for field, is_set in (("webhookClientConfig", client is not None), ("conversionReviewVersions", bool(reviews))):
            if is_set:
                yield forbidden_field(f"{field_path}.{field}", "should not be set when strategy is not set to Webhook")
        return
    if client is None:
        yield required(f"{field_path}.webhookClientConfig", "required when strategy is set to Webhook")
    else:
        yield from client_errors(client, f"{field_path}.webhookClientConfig")
    reviews_path = f"{field_path}.conversionReviewVersions"
    yield from review_version_errors(reviews, reviews_path) if reviews else [required(reviews_path)]


def _stored_errors(stored: list[str] | None, versions: list[Object]) -> Causes:
    field_path = "status.storedVersions"
    if not stored:
        yield invalid_value(field_path, stored or None, "must have at least one stored version")
        return
    unused = {name: index for index, name in enumerate(stored)}
    for version in versions:
        name = version.get("name") or ""
        if unused.pop(name, None) is None and version.get("storage"):
            yield invalid_value(field_path, stored, f"must have the storage version {name}")
    for name, index in unused.items():
        yield invalid_value(f"{field_path}[{index}]", name, _NOT_STORED.format(name))


def _approval_errors(group: str, meta: Object, old: Object | None) -> Causes:
    if not is_protected(group):
        return
    (_, state, reason), field_path = approval_of(meta), f"metadata.annotations[{APPROVAL}]"
    if old is not None and approval_of(old["metadata"])[1] == state:
        return
    if state == "Missing":
        yield required(field_path, reason)
    elif state == "Invalid":
        yield invalid_value(field_path, meta["annotations"][APPROVAL], reason)
