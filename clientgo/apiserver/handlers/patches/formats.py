"""Patch formats of PATCH requests, with the real server's errors for patches that cannot be applied."""

from typing import Any

from clientgo.apiserver.http.status import ApiFailure, bad_request
from clientgo.apiserver.registry.metadata import json_type
from clientgo.meta.apply.fieldsets import Rules
from clientgo.meta.apply.managedfields import FieldManager
from clientgo.meta.apply.serverside import Applied, ApplyConflict, Object
from clientgo.meta.apply.serverside import apply as apply_config
from clientgo.meta.patches import PatchError, jsonpatch, strategic

__all__ = ["Applied", "apply", "json_patch", "strategic_merge_patch"]


def json_patch(target: Object, operations: Any) -> Any:
    """Return `target` with a JSON Patch applied, all of it or nothing.

    Raises:
        ApiFailure: 400 for a malformed patch, 422 if an operation cannot be applied or a test fails.
    """
    if fault := _malformed(operations):
        raise bad_request(f"error decoding patch: json: cannot unmarshal {fault}")
    try:
        return jsonpatch.apply(target, operations)
    except PatchError as error:
        # kube-apiserver keeps the operation's own message to itself.
        message = "the server rejected our request due to an error in our request"
        raise ApiFailure(422, "Invalid", message, details={}) from error


def _malformed(operations: Any) -> str:
    if not isinstance(operations, list):
        return f"{json_type(operations)} into Go value of type []handlers.jsonPatchOp"
    for operation in operations:
        if not isinstance(operation, dict):
            return f"{json_type(operation)} into Go value of type handlers.jsonPatchOp"
        for field in ("op", "path", "from"):
            if not isinstance(value := operation.get(field, ""), str):
                return f"{json_type(value)} into Go struct field jsonPatchOp.{field} of type string"
    return ""


def strategic_merge_patch(target: Object, patch: Any, rules: Rules) -> Any:
    """Return `target` with a strategic merge patch applied by the kind's merge rules.

    Raises:
        ApiFailure: 400, a directive is unknown or a list item lacks its merge key.
    """
    try:
        return strategic.apply(target, patch, rules)
    except PatchError as error:
        raise bad_request(str(error)) from error


def apply(live: Object, config: Object, who: FieldManager, rules: Rules, *, force: bool, time: str) -> Applied:
    """Merge `config` into `live` (empty when there is no object yet) for this field manager.

    Raises:
        ApiFailure: 409, others manage fields that would change, and `force` is not set.
    """
    try:
        return apply_config(live, config, who, rules, force=force, time=time)
    except ApplyConflict as conflict:
        raise ApiFailure(409, "Conflict", str(conflict), details={"causes": conflict.causes}) from conflict
