"""What the server does about fields of a write that its kind does not have, or that are there twice.

`Strict` refuses the write, with `BadRequest`, or `Invalid` for a patch, and names the fields; `Warn` takes them away,
and a warning is logged; `Ignore` takes them away silently. A server that is not told warns (kube-apiserver since 1.27).
"""

from typing import Literal, get_args

import msgspec

from clientgo.rest.request import ByteStream, EventStream, Request, Requester, open_stream

FieldValidation = Literal["Strict", "Warn", "Ignore"]

_WRITES = ("create", "update", "patch", "apply")


class ValidatingRequester:
    """Asks so for every write that it passes on; ValueError for another word than the three."""

    def __init__(self, requester: Requester, validation: FieldValidation) -> None:
        if validation not in get_args(FieldValidation):
            known = ", ".join(get_args(FieldValidation))
            raise ValueError(f"field validation is one of {known}, and not {validation!r}")
        self._requester = requester
        self._query = {"fieldValidation": validation}

    def do(self, request: Request) -> bytes:
        """The body of the answer."""
        if request.verb in _WRITES:
            request = msgspec.structs.replace(request, query={**request.query, **self._query})
        return self._requester.do(request)

    def watch(self, request: Request) -> EventStream:
        """Open a watch."""
        return self._requester.watch(request)

    def stream(self, request: Request) -> ByteStream:
        """Open a stream."""
        return open_stream(self._requester, request)
