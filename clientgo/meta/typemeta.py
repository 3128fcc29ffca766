"""TypeMeta (apiVersion and kind) of received JSON, and the check that a body is a success of the requested kind.

An HTTP status describes the connection, not the content: a server, or a proxy in front of it, may answer 200 with a
failure Status, a login page, `{}`, another kind or a table for printing. `check_response` decides for every response:

- A Status other than Success is an `ApiError` for every request (client-go's rule).
- A Status Success is a response to deletions, and to requests whose result is not an object.
- Anything else must have one of the accepted kinds, or is an `InvalidResponse`.

Reading the TypeMeta of a body costs a fifth of a microsecond, because servers write it first.
"""

import re
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from clientgo.errors import InvalidResponse, api_error, decode_status
from clientgo.internal.patterns import lazy_pattern
from clientgo.meta.shallow_json import UNREADABLE, members, only

Body = bytes | msgspec.Raw


_TEXT = rb'\s*+:\s*+"([^"\\]*+)"'
_HEAD = lazy_pattern(
    rb'\s*+\{\s*+(?:"kind"%b\s*+,\s*+"apiVersion"%b|"apiVersion"%b\s*+,\s*+"kind"%b)' % (_TEXT, _TEXT, _TEXT, _TEXT)
)

_NO_HEAD = lazy_pattern(rb"(?!)")

_SHOWN = 80
_SHOWN_KEYS = 5
_HEADS = 1024


class TypeMeta(NamedTuple):
    """The group and kind of a JSON object: the group is None without an apiVersion, the kind empty if it has none."""

    group: str | None
    kind: str

    def __str__(self) -> str:
        return f"{self.kind} ({self.group})" if self.group else self.kind


class AcceptedKinds(msgspec.Struct, frozen=True):
    """The kinds of a response: `kinds`, and any kind of the `groups`; with `success`, a Status Success as well.

    `text` describes them in messages. Without kinds and groups, any text is accepted. `usual_head` matches the
    first bytes of most objects of the kinds, in a third of the time of a check.
    """

    text: str = ""
    kinds: frozenset[TypeMeta] = frozenset()
    groups: frozenset[str] = frozenset()
    any_group: bool = False
    success: bool = False
    usual_head: re.Pattern[bytes] = _NO_HEAD


_OTHER_HEAD = lazy_pattern(
    rb'\{(?:"kind":%b,"apiVersion":"[^"\\]*+"|"apiVersion":"[^"\\]*+","kind":%b)' % ((rb'"(?!Status")[^"\\]++"',) * 2)
)

ANY_RESPONSE = AcceptedKinds(success=True, usual_head=_OTHER_HEAD)
"""Any content except a failure Status."""

ANY_OBJECT = AcceptedKinds("an object or a Status", any_group=True, success=True, usual_head=_OTHER_HEAD)
"""An object of any kind, or a Status Success."""


def accepted_kinds(*kinds: TypeMeta, success: bool = False) -> AcceptedKinds:
    """Return the set of these kinds; an object without an apiVersion is accepted by its kind alone."""
    texts = [*map(_with_article, kinds), *(["a Status"] if success else [])]
    without_group = (TypeMeta(None, kind) for _, kind in kinds)
    head = lazy_pattern(rb"\{(?:%b)" % b"|".join(map(_head_of, kinds))) if kinds else _NO_HEAD
    return AcceptedKinds(" or ".join(texts), frozenset((*kinds, *without_group)), success=success, usual_head=head)


def _head_of(kind: TypeMeta) -> bytes:
    """Return a pattern of the first members of an object, as servers write them: without spaces."""
    group = re.escape(f"{kind.group}/" if kind.group else "").encode()
    version, name = rb'"apiVersion":"%b[^"/\\]*+"' % group, b'"kind":"%b"' % re.escape(kind.kind).encode()
    return rb"%b,%b|%b,%b" % (version, name, name, version)


def check_response(body: Body, accepted: AcceptedKinds, server: str = "") -> bool:
    """Return True if `body` is a Status Success, False if it is of another accepted kind.

    `server` is named in the error.

    Raises:
        ApiError: it is a Status other than Success.
        InvalidResponse: it is of no accepted kind.
    """
    if accepted.usual_head.match(body) is not None:
        return False
    received = type_meta(body)
    if received in accepted.kinds:
        return False
    if received in _STATUS:
        status = decode_status(body)
        if status.status != "Success":
            raise api_error(status)
        if accepted.success:
            return True
    elif accepted is ANY_RESPONSE or (received is not None and is_accepted(received, accepted)):
        return False
    raise invalid_response(accepted.text, describe(body, received), server)


def invalid_response(expected: str, received: str, server: str) -> InvalidResponse:
    """Return the error for a response that is not what was requested."""
    origin = f" from {server}" if server else ""
    return InvalidResponse(f"invalid response{origin}: expected {expected}, got {received}")


def type_meta(body: Body) -> TypeMeta | None:
    """Return the TypeMeta of a JSON object; None if `body` is not a JSON object."""
    head = _HEAD.match(body)
    return _type_meta_in(head[0]) if head is not None else _type_meta_of(body)


def other_kind(item: Body, accepted: AcceptedKinds) -> TypeMeta | None:
    """Return the TypeMeta of a list's item if it is of a kind that is not accepted.

    Items of built-in kinds have no kind, those of custom resources have one.
    """
    if accepted.usual_head.match(item) is not None or not _has_kind(item):
        return None
    received = type_meta(item)
    return received if received is not None and received.kind and not is_accepted(received, accepted) else None


def _has_kind(item: Body) -> bool:
    """Return False for an object without a kind, in half the time that `type_meta` takes; True if that is unknown."""
    try:
        return bool(_DECODER.decode(item).kind)
    except UNREADABLE:
        return True


def is_accepted(received: TypeMeta, accepted: AcceptedKinds) -> bool:
    """Report whether an object with this TypeMeta is of an accepted kind."""
    if received in accepted.kinds:
        return True
    if not received.kind or received in _STATUS:
        return False
    return accepted.any_group or (
        bool(accepted.groups) and (received.group is None or received.group in accepted.groups)
    )


def describe(body: Body, received: TypeMeta | None) -> str:
    """Return a description of a body for messages, without the values in it, which may be secret."""
    text = bytes(body).lstrip()[:_SHOWN].decode("utf-8", "replace")
    if not text:
        return "an empty body"
    if received is None:
        if text[0] in '{["':
            return "JSON that is invalid or not an object"
        return f"{'HTML' if text[0] == '<' else 'text'}: {text!r}"
    if received.kind:
        return _with_article(received)
    keys = [*_members(body)]
    names = ", ".join(repr(key[:_SHOWN]) for key in keys[:_SHOWN_KEYS])
    more = ", ..." if len(keys) > _SHOWN_KEYS else ""
    return f"a JSON object without a kind (its keys: {names}{more})" if keys else "an empty JSON object"


# Old servers and simple ones leave out the apiVersion of a Status.
_STATUS = frozenset((TypeMeta("", "Status"), TypeMeta(None, "Status")))


class _Head(msgspec.Struct):
    # Any: a wrong type must not hide the other field.
    api_version: Any = msgspec.field(default=None, name="apiVersion")
    kind: Any = ""


_DECODER = msgspec.json.Decoder(_Head)


@lru_cache(_HEADS)
def _type_meta_in(head: bytes) -> TypeMeta | None:
    return _type_meta_of(head + b"}")


def _type_meta_of(body: Body) -> TypeMeta | None:
    try:
        try:
            head = _DECODER.decode(body)
        except RecursionError:
            head = _DECODER.decode(only(members(bytes(body)), ("apiVersion", "kind")))
    except UNREADABLE:
        return None
    version, kind = head.api_version, head.kind
    group = version.rpartition("/")[0] if isinstance(version, str) and version else None
    return TypeMeta(group, kind if isinstance(kind, str) else "")


def _with_article(received: TypeMeta) -> str:
    return f"{'an' if received.kind[:1] in 'AEIOU' else 'a'} {received}"


def _members(body: Body) -> dict[str, bytes]:
    try:
        return members(bytes(body))
    except msgspec.DecodeError:
        return {}
