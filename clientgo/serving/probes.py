"""`/healthz`, `/readyz` and their like: named checks behind one answer, in the form Kubernetes' own servers give it.

`GET /healthz` says `ok`, or which checks failed. `?verbose` lists all; `?exclude=name` leaves one out; `/healthz/name`
asks one alone. Why a check fails is told under its own path and in the log; the list, which strangers may read, leaves
it out.
"""

import logging
from collections.abc import Mapping

from clientgo.serving.checks import Check, ping
from clientgo.serving.message import Response, ServingRequest
from clientgo.serving.routing import Access, Handler, Route, below

log = logging.getLogger(__name__)


def probe_routes(checks: Mapping[str, Check], *, path: str = "/healthz") -> dict[str, Handler]:
    """The routes of one probe at `path` and below, open to everybody; without a check there is `ping`.

    The mapping may grow while it is served.
    """
    probe = _Probe(path.strip("/"), checks)
    return {
        path: Route(probe.all, access=Access.OPEN),
        below(path): Route(probe.one, access=Access.OPEN),
    }


class _Probe:
    def __init__(self, name: str, checks: Mapping[str, Check]) -> None:
        self._name = name
        self._checks = checks
        # What failed when it was asked last. Two threads may both tell of one change; more harm there is none.
        self._failing: dict[str, str] = {}

    def all(self, request: ServingRequest) -> Response:
        excluded = {name for value in request.query.get("exclude", ()) for name in value.split(",") if name}
        lines, failed = [], False
        checks = dict(self._checks) or {"ping": ping}
        for name, check in checks.items():
            if name in excluded:
                lines.append(f"[+]{name} excluded: ok")
            elif self._why(name, check) is None:
                lines.append(f"[+]{name} ok")
            else:
                lines.append(f"[-]{name} failed: reason withheld")
                failed = True
        if unknown := sorted(excluded - checks.keys()):
            names = ", ".join(f'"{name}"' for name in unknown)
            lines.append(f"warn: some health checks cannot be excluded: no matches for {names}")
        if failed:
            return Response(500, "\n".join([*lines, f"{self._name} check failed", ""]))
        if "verbose" not in request.query:
            return Response(200, "ok")
        return Response(200, "\n".join([*lines, f"{self._name} check passed", ""]))

    def one(self, request: ServingRequest) -> Response:
        name = request.path.removeprefix(f"/{self._name}/")
        check = (dict(self._checks) or {"ping": ping}).get(name)
        if check is None:
            return Response(404, "404 page not found\n")
        why = self._why(name, check)
        return Response(200, "ok") if why is None else Response(500, f"internal server error: {why}\n")

    def _why(self, name: str, check: Check) -> str | None:
        """What is wrong, in a sentence; told to the log when it begins, changes or ends."""
        try:
            check()
        except Exception as error:  # noqa: BLE001  # a check that breaks is a check that fails
            why = str(error) or type(error).__name__
            if self._failing.get(name) is None:
                log.warning("a check fails", extra={"probe": self._name, "check": name, "reason": why})
            self._failing[name] = why
            return why
        if self._failing.pop(name, None) is not None:
            log.info("a check passes again", extra={"probe": self._name, "check": name})
        return None
