"""Patches: JSON patch, merge patch, strategic merge patch, and the configurations of server-side apply."""

from functools import partial
from typing import Any

from clientgo.internal.patterns import lazy_pattern
from clientgo.meta.patches import PatchError, mergepatch
from clientgo_apiserver.api.gotext import go_map, json_type
from clientgo_apiserver.api.resources import Object, Resource
from clientgo_apiserver.api.status import (
    ApiFailure,
    bad_request,
    invalid,
    invalid_value,
    unavailable_type,
    unsupported_media_type,
)
from clientgo_apiserver.crds.structural import whole_numbers
from clientgo_apiserver.gotypes.structs import check_field
from clientgo_apiserver.gotypes.typedvalues import typed_errors
from clientgo_apiserver.http.decode import is_earlier, no_conversion, parse_json, parse_yaml
from clientgo_apiserver.http.gojson import duplicate_fields, duplicate_yaml_keys, go_json, in_text_order
from clientgo_apiserver.http.jsonpatch import failure_of, json_patch
from clientgo_apiserver.http.nesting import value_error
from clientgo_apiserver.merging.comparison import UntypedObject
from clientgo_apiserver.merging.managedfields import UnknownVersion
from clientgo_apiserver.merging.serverside import Applied, ApplyConflict, apply
from clientgo_apiserver.merging.strategic import Merger
from clientgo_apiserver.registry.mergerules import managed_type, rules_of
from clientgo_apiserver.registry.write import Write
from clientgo_apiserver.releases.release import current
from clientgo_apiserver.writes.decoding import check_name, decode_metadata, name_required, read_metadata

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"


def patched(write: Write, old: Object, kind: str, body: bytes) -> Object:
    """Return the object that a patch makes of `old`, with decoded metadata; errors name the patch (400, 422, 500)."""
    value = write.request.value
    if value is None:
        value = read_patch(kind, body)
        if kind != JSON_PATCH:
            write.find_duplicates(body, value)
    new = patched_object(write.resource, old, kind, value, strict=write.validation != "Ignore")
    write.strategic = kind == STRATEGIC_PATCH
    if not write.strategic:
        new = in_text_order(new, old, copied=kind == JSON_PATCH)
    write.patch = lambda: go_map(value) if write.strategic else go_json(new)
    _check_kind(write, new)
    meta = new.get("metadata")
    if meta is not old["metadata"]:
        meta = decode_metadata(write, new, old["metadata"])
    return {**new, "apiVersion": old["apiVersion"], "kind": old["kind"], "metadata": meta}


def check_patch_type(resource: Resource, content_type: str) -> None:
    """Check that the resource supports a type of patches (415)."""
    # Strategic merge needs Go types, which custom kinds do not have.
    strategic = () if resource.custom else (STRATEGIC_PATCH,)
    supported = (JSON_PATCH, MERGE_PATCH, *strategic, APPLY_PATCH)
    if content_type.partition(";")[0] not in supported:  # in this spelling, unlike other types
        raise unsupported_media_type(supported) if resource.custom else unavailable_type(415, "Unsupported Media Type")


def _check_kind(write: Write, new: Object) -> None:
    """Check that a patch does not change apiVersion and kind, which strategic merges ignore (400, 422)."""
    resource = write.resource
    kind, api_version = new.get("kind"), new.get("apiVersion")
    if write.strategic or (kind, api_version) == (resource.kind, resource.api_version):
        return
    if resource.custom:
        if not kind:
            raise write.undecodable("Object 'Kind' is missing")
        expected = (("kind", kind, resource.kind), ("apiVersion", api_version, resource.api_version))
        causes = [invalid_value(field, value, f"must be {right}") for field, value, right in expected if value != right]
        raise invalid(str(kind), str(api_version or "").rpartition("/")[0], write.name, causes)
    for field in ("apiVersion", "kind"):
        if not isinstance(new.get(field, ""), str | None):
            mismatch = f"json: cannot unmarshal {json_type(new[field])} into Go struct field .{field} of type string"
            raise write.undecodable(f"couldn't get version/kind; json parse error: {mismatch}")
    if not api_version:
        raise name_required(write)  # nothing is decoded without a version
    kind = kind or resource.kind
    # What a patch makes of an object is converted from any version that is known.
    if kind == resource.kind and isinstance(api_version, str) and is_earlier(api_version, kind):
        return
    if (kind, api_version) != (resource.kind, resource.api_version):
        raise write.undecodable(no_conversion(str(kind), str(api_version), resource))


def read_patch(kind: str, body: bytes) -> Any:
    """Parse a patch that is not an apply (400)."""
    try:
        return parse_json(body)
    except ValueError as error:
        if current().at_least("1.37"):
            raise bad_request("invalid JSON patch") from error
        raise bad_request(f"{'' if kind == STRATEGIC_PATCH else 'error decoding patch: '}{error}") from error


def patched_object(resource: Resource, current: Object, kind: str, value: Any, *, strict: bool = True) -> Object:
    """Return the patched object before any validation; `value` is the patch (400, 422, 500).

    Not `strict` are patches whose fields are not validated: Go does not decode them before it applies them.
    """
    if kind == JSON_PATCH:
        patched = json_patch(current, value, strict=strict)
        fault = value_error(patched)
        if fault:
            raise bad_request(f"the patched object is unrecognized (must be of type {resource.kind}): {fault}")
    elif kind == STRATEGIC_PATCH and value is None:
        patched = current
    elif kind == MERGE_PATCH and (value is None or not (strict or isinstance(value, dict | list))):
        raise bad_request("Invalid JSON Patch")
    elif not isinstance(value, dict) and (strict or kind == STRATEGIC_PATCH):
        mismatch = f"json: cannot unmarshal {json_type(value)} into Go value of type map[string]interface {{}}"
        raise bad_request(mismatch if kind == STRATEGIC_PATCH else f"error decoding patch: {mismatch}")
    elif kind == STRATEGIC_PATCH:
        patched = strategic_merge_patch(current, value, resource)
    else:
        patched = mergepatch.apply(current if isinstance(value, dict) else None, value)
    if not isinstance(patched, dict):
        type_meta = (
            r'struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }'
        )
        mismatch = f"json: cannot unmarshal {json_type(patched)} into Go value of type {type_meta}"
        fault = f"couldn't get version/kind; json parse error: {mismatch}"
        raise invalid("", "", "", [invalid_value("patch", go_json(patched), fault)])
    return patched


def read_configuration(write: Write, resource: Resource, body: bytes) -> Object:
    """Parse a configuration of this kind (400, 500)."""
    is_new = current().at_least("1.37")
    try:
        decoded = _json_object(body)
        is_unique = decoded is not None and not duplicate_fields(body, decoded)
        parsed = parse_yaml(body) if decoded is None else decoded
        config = {} if parsed is None else whole_numbers(parsed)  # YAML does not tell 3.0 from 3
    except ValueError as error:
        reason = "encoding patch" if is_new else "decoding YAML: error converting YAML to JSON"
        raise bad_request(f"error {reason}: {error}") from error
    if not isinstance(config, dict):
        errors = f"json: cannot unmarshal {json_type(config)} into Go value of type map[string]interface {{}}"
        what = "patch" if is_new else "YAML"
        raise bad_request(f"error decoding {what}: error unmarshaling JSON: while decoding JSON: {errors}")
    if (config.get("apiVersion"), config.get("kind")) != (resource.api_version, resource.kind):
        group, _, version = str(config.get("apiVersion") or "").rpartition("/")
        raise bad_request(f"invalid object type: {group}/{version}, Kind={config.get('kind') or ''}")
    sent = config.get("metadata")
    if isinstance(sent, dict) and sent.get("managedFields") is not None:
        raise bad_request("metadata.managedFields must be nil")
    errors = typed_errors(resource, config, rules_of(resource))
    if errors:
        raise ApiFailure(500, "", f"failed to create typed patch object ({_identity(resource, config)}): {errors}")
    if not is_unique:
        _report_duplicates(write, body)
    if not write.resource.custom:
        write.applied = _identity(resource, config)
    check_name(write, {"name": write.name, **read_metadata(write, config)})
    return {**config, "metadata": config.get("metadata") or {}}


def _report_duplicates(write: Write, body: bytes) -> None:
    """Ignore, warn of or reject keys that a configuration has twice (400)."""
    if write.validation == "Ignore":
        return
    write.duplicates = duplicate_yaml_keys(body)
    if write.duplicates and write.validation == "Strict":
        raise bad_request(f"error strict decoding YAML: error converting YAML to JSON: {write.duplicates[0]}")
    write.report()


def _identity(resource: Resource, obj: Object) -> str:
    meta = obj.get("metadata")
    values = [meta.get(key) for key in ("namespace", "name")] if isinstance(meta, dict) else ["", ""]
    name = "/".join(value if isinstance(value, str) else "" for value in values)
    return f"{name}; {resource.group}/{resource.version}, Kind={resource.kind}"


# What is valid in JSON and not in YAML: half characters in escapes, and some characters themselves.
_NO_YAML = lazy_pattern(rb"\\u[dD][89a-fA-F]|\x7f|\xc2[\x80-\x84\x86-\x9f]|\xef\xbf[\xbe\xbf]")


def _json_object(body: bytes) -> Any:
    """Parse a body that is JSON, as clients send it: much faster than as YAML; None if it may be no JSON or no YAML."""
    try:
        return parse_json(body) if body.startswith(b"{") and _NO_YAML.search(body) is None else None
    except ValueError:
        return None


def merged(write: Write, live: Object, config: Object) -> Applied:
    """Return the live object (empty for a new one) with the configuration applied (409, 500)."""
    # As on a real server, changes through the scale subresource have no time.
    time = "" if write.subresource == "scale" else write.now
    resource, force = write.resource, write.request.query.flag("force")
    try:
        kind = managed_type(resource, write.subresource, write.conversions)
        return apply(live, config, write.field_manager("Apply"), kind, force=force, time=time)
    except UnknownVersion as error:
        reason = f"request to convert CR to an invalid group/version: {error}"
        raise ApiFailure(500, "", reason) from error
    except ApplyConflict as conflict:
        raise ApiFailure(409, "Conflict", str(conflict), details={"causes": conflict.causes}) from conflict
    except UntypedObject as error:
        errors = typed_errors(resource, live, rules_of(resource))
        reason = f"failed to convert new object ({_identity(resource, live)}) to smd typed: {errors}"
        raise ApiFailure(500, "", f"failed to create manager for existing fields: {reason}") from error


def strategic_merge_patch(target: Object, patch: Object, resource: Resource) -> Object:
    """Return `target` with a strategic merge patch applied by the kind's merge rules, which consumes it (400, 500)."""
    api_version, kind = resource.api_version, resource.kind
    try:
        return Merger(rules_of(resource), partial(check_field, api_version, kind)).merge(target, patch)
    except PatchError as error:
        raise failure_of(error) from error
