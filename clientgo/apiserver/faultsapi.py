"""Faults over HTTP, for clients in other languages and processes; served only where the server was told to.

`GET /faults` lists what is planted, `POST /faults` plants one (the fields of `Fault` in camel case), `DELETE /faults`
and `DELETE /faults/<number>` take them away, `PUT /faults/clock` takes `{"skewSeconds": 3600}`, `PUT /faults/disk`
`{"full": true}`, `POST /faults/compact` forgets the history, and `POST /faults/disconnect` closes every connection, a
moment after it was answered.
"""

from typing import Any

import msgspec

from clientgo.apiserver.faults import Fault, Faults, Planted, Reach
from clientgo.apiserver.http.messages import Request, Response, json_response
from clientgo.apiserver.http.status import PageNotFound, bad_request, method_not_allowed

NAME = "faults"
_FIELDS = {"retryAfter" if name == "retry_after" else name: name for name in Fault.__slots__}
_PLAIN = Fault()


class FaultsApi:
    """Answers the requests below `/faults`."""

    def __init__(self, faults: Faults, reach: Reach) -> None:
        self._faults = faults
        self._reach = reach

    def __repr__(self) -> str:
        return f"<FaultsApi {self._faults}>"

    def answer(self, request: Request) -> Response:
        """Answer one request.

        Raises:
            ApiFailure: 400 or 405.
            PageNotFound: no such path, or no such fault.
        """
        rest = request.path.strip("/").removeprefix(NAME).strip("/")
        if not rest:
            return self._all(request)
        if rest == "clock" and request.method == "PUT":
            self._faults.skew(_number(_body(request), "skewSeconds"))
            return json_response({"skewSeconds": self._faults.clock.skew})
        if rest == "compact" and request.method == "POST":
            self._reach.store.compact()
            return json_response({})
        if rest == "disconnect" and request.method == "POST":
            self._reach.disconnect()
            return json_response({})
        if rest == "disk" and request.method == "PUT":
            self._reach.fill(full=_flag(_body(request), "full"))
            return json_response({"full": self._reach.store.full})
        if rest.isdecimal() and request.method == "DELETE":
            return self._remove(int(rest))
        raise PageNotFound

    def _all(self, request: Request) -> Response:
        if request.method == "GET":
            return json_response({"items": [_shown(one) for one in self._faults.planted()]})
        if request.method == "DELETE":
            self._faults.lift()
            self._reach.fill(full=False)
            return json_response({"items": []})
        if request.method == "POST":
            return json_response(_shown(self._faults.add(_fault(_body(request)))), 201)
        raise method_not_allowed()

    def _remove(self, number: int) -> Response:
        for one in self._faults.planted():
            if one.number == number:
                self._faults.remove(one)
                return json_response(_shown(one))
        raise PageNotFound


def _body(request: Request) -> dict[str, Any]:
    try:
        return msgspec.json.decode(request.body, type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError) as error:
        raise bad_request(f"the body must be a JSON object: {error}") from error


def _flag(body: dict[str, Any], field: str) -> bool:
    value = body.get(field)
    if not isinstance(value, bool):
        raise bad_request(f"{field} must be true or false")
    return value


def _number(body: dict[str, Any], field: str) -> float:
    value = body.get(field)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise bad_request(f"{field} must be a number")
    return float(value)


def _fault(body: dict[str, Any]) -> Fault:
    unknown = sorted(set(body) - set(_FIELDS))
    if unknown:
        raise bad_request(f"a fault has no field {unknown[0]!r}; it has {', '.join(sorted(_FIELDS))}")
    try:
        return msgspec.convert({_FIELDS[field]: value for field, value in body.items()}, Fault)
    except (msgspec.ValidationError, ValueError) as error:
        raise bad_request(f"this is no fault: {error}") from error


def _shown(planted: Planted) -> dict[str, Any]:
    """The fault as it was asked for: fields that were left out are left out."""
    fields = {field: getattr(planted.fault, name) for field, name in _FIELDS.items()}
    told = {field: value for field, value in fields.items() if value != getattr(_PLAIN, _FIELDS[field])}
    return {"number": planted.number, "hits": planted.hits, **told}
