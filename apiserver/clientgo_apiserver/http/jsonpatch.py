"""JSON patches: decoding as in Go, limits, and errors of patches that cannot be applied."""

from typing import Any

from clientgo.meta.patches import PatchError, jsonpatch
from clientgo_apiserver.api.gotext import json_type
from clientgo_apiserver.api.limits import MAX_OPERATIONS
from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.api.status import ApiFailure, bad_request
from clientgo_apiserver.merging.mergelists import InvalidDirective, UnmergeablePatch


def json_patch(target: Object, operations: Any, *, strict: bool = True) -> Any:
    """Return `target` with a JSON Patch applied, all of it or nothing (400, 413, 422).

    If not `strict`, a member of an operation that has the wrong type is like one that is absent.
    """
    try:
        operations = decoded_operations(operations, strict=strict)
    except ValueError as error:
        raise bad_request(f"{'error decoding patch: ' if strict else ''}{error}") from error
    if len(operations) > MAX_OPERATIONS:
        limit = f"The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {len(operations)}"
        raise ApiFailure(413, "RequestEntityTooLarge", f"Request entity too large: {limit}")
    try:
        return jsonpatch.apply(target, operations)
    except PatchError as error:
        raise failure_of(error) from error


def decoded_operations(value: Any, *, strict: bool = True) -> list[Object]:
    """Return the operations of a decoded JSON patch; Go's decoder takes null for an empty value.

    Raises:
        ValueError: it is not a list of operations; the error is in Go's words.
    """
    patch, operation_type = _STRICT_TYPES if strict else _PATCH_TYPES
    if not isinstance(value, list | None):
        raise ValueError(f"json: cannot unmarshal {json_type(value)} into Go value of type {patch}")
    for operation in value or ():
        if not isinstance(operation, dict | None):
            raise ValueError(f"json: cannot unmarshal {json_type(operation)} into Go value of type {operation_type}")
        members = operation or {}
        for field in ("op", "path", "from") if strict else ():
            if not isinstance(member := members.get(field), str | None):
                expected = f"Go struct field jsonPatchOp.{field} of type string"
                raise ValueError(f"json: cannot unmarshal {json_type(member)} into {expected}")
    return [operation or {} for operation in value or ()]


_STRICT_TYPES = ("[]handlers.jsonPatchOp", "handlers.jsonPatchOp")
_PATCH_TYPES = ("jsonpatch.Patch", "jsonpatch.Operation")


def failure_of(error: PatchError) -> ApiFailure:
    """Return the failure of a patch that cannot be applied (400, 422, 500)."""
    if isinstance(error, InvalidDirective):
        return bad_request(str(error))
    if isinstance(error, UnmergeablePatch):
        # Not a client's error for a real server either.
        return ApiFailure(500, "", str(error))
    # kube-apiserver does not return the operation's message.
    message = "the server rejected our request due to an error in our request"
    return ApiFailure(422, "Invalid", message, details={})
