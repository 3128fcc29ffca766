"""JSON patch (RFC 6902): operations one after the other, all or none."""

from typing import Any

import jsonpatch
import jsonpointer
import msgspec

from clientgo.envtest.apiserver.status import ApiFailure, bad_request


def json_patch(target: dict[str, Any], operations: Any) -> Any:
    """The target with the operations done; the target itself is not changed.

    Raises:
        ApiFailure: 400 for what is no patch, 422 when an operation cannot be done or a test fails.
    """
    if not isinstance(operations, list):
        raise bad_request("json: cannot unmarshal into Go value of type jsonpatch.Patch")
    copy = msgspec.json.decode(msgspec.json.encode(target))
    try:
        return jsonpatch.apply_patch(copy, operations, in_place=True)
    except (jsonpatch.InvalidJsonPatch, TypeError) as error:
        raise bad_request(f"error decoding patch: {error}") from error
    except (jsonpatch.JsonPatchException, jsonpointer.JsonPointerException) as error:
        # The real server keeps the operation's own message to itself.
        message = "the server rejected our request due to an error in our request"
        raise ApiFailure(422, "Invalid", message, details={}) from error
