"""Objects as they are stored, made before their revision is known: a large one takes long, and is made in a thread."""

import secrets
from typing import NamedTuple

import msgspec

from clientgo_apiserver.api.largejson import decode_large
from clientgo_apiserver.api.limits import MAX_OBJECT_BYTES
from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.api.status import ApiFailure
from clientgo_apiserver.gotypes.structs import encode
from clientgo_apiserver.storage.stored import Entry

_UNKNOWN = secrets.token_hex(16)
"""In place of the version of an object that is not stored yet: no object has it elsewhere."""

_encode = msgspec.json.Encoder().encode


class PreparedObject(NamedTuple):
    """An object as it is stored, but for its revision, which it has if it was known."""

    object: Object
    raw: bytes
    is_numbered: bool

    def at(self, revision: int) -> Entry:
        """Return the entry of a revision; only once, because it has the object."""
        if self.is_numbered:
            return Entry(self.object, revision, self.raw, ordered=False)
        version = str(revision)
        self.object["metadata"]["resourceVersion"] = version
        return Entry(self.object, revision, self.raw.replace(_UNKNOWN.encode(), version.encode(), 1))


def prepare(obj: Object, version: str = "") -> PreparedObject:
    """Encode an object; its version is not known yet by default (500).

    It depends on nothing but the object: that of a large one takes long, and is made in a thread.
    """
    if not version:
        _check_size(_encode(obj))  # the order of the fields takes far longer
    numbered = {**obj, "metadata": {**obj["metadata"], "resourceVersion": version or _UNKNOWN}}
    raw = encode(numbered)
    _check_size(raw)
    # Decoded again: the fastest way to put the fields in order on all levels.
    return PreparedObject(numbered if version else decode_large(raw), raw, bool(version))


def _check_size(raw: bytes) -> None:
    if len(raw) > MAX_OBJECT_BYTES:
        raise ApiFailure(500, "", "etcdserver: request is too large")  # in etcd's words
