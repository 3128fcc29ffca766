"""Probe endpoints such as `/healthz` and `/readyz`, in the format of Kubernetes' own servers.

`GET /healthz` returns `ok` or the failed checks. `?verbose` lists all; `?exclude=name` omits one; `/healthz/name` runs
a single check. The reason of a failure appears only under the check's own path and in the log, because the list is
public.
"""

from collections.abc import Mapping

from clientgo.errors import CallbackFailed
from clientgo.internal.callbacks import run_callback
from clientgo.log import get_logger
from clientgo.program.flags import Address
from clientgo.serving.checks import Check, ping
from clientgo.serving.message import Response, ServingRequest
from clientgo.serving.routing import Access, Handler, Route, below
from clientgo.serving.server import Server
from clientgo.stop.lifecycle import finished

log = get_logger(__name__)

CHECK_SECONDS = 5.0
"""Seconds for all checks of a request, after which it has failed. A kubelet closes its connection earlier, after its
`timeoutSeconds`, which cancels the checks that are coroutines.
"""


def probe_routes(
    checks: Mapping[str, Check], *, path: str = "/healthz", seconds: float = CHECK_SECONDS
) -> dict[str, Handler]:
    """Return the routes of one probe at `path` and below, without access control; without checks there is `ping`.

    The mapping may grow while it is served. A request whose checks take more than `seconds` has failed.
    """
    probe = _Probe(path.strip("/"), checks, seconds)
    return {
        path: Route(probe.all, access=Access.OPEN, seconds=seconds, late=probe.late),
        below(path): Route(probe.one, access=Access.OPEN, seconds=seconds, late=probe.late),
    }


def probe_server(address: Address, alive: Mapping[str, Check], ready: Mapping[str, Check]) -> Server:
    """Return the server of `/healthz` and `/readyz`, which is not started yet."""
    return Server(address, {**probe_routes(alive), **probe_routes(ready, path="/readyz")}, name="probes")


class _Probe:
    def __init__(self, name: str, checks: Mapping[str, Check], seconds: float) -> None:
        self._name = name
        self._seconds = seconds
        self._checks = checks
        # Last failure of each check. Two threads may both log one change, which is harmless.
        self._failing: dict[str, str] = {}
        # Name of each check in progress; the keys are of their calls.
        self._running: dict[object, str] = {}

    def all(self, request: ServingRequest) -> Response:
        excluded = {name for value in request.query.get("exclude", ()) for name in value.split(",") if name}
        lines, failed = [], False
        checks = dict(self._checks) or {"ping": ping}
        for name, check in checks.items():
            if name in excluded:
                lines.append(f"[+]{name} excluded: ok")
            elif self._failure_of(name, check) is None:
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
        failure = self._failure_of(name, check)
        return Response(200, "ok") if failure is None else Response(500, f"internal server error: {failure}\n")

    def late(self, request: ServingRequest) -> Response:
        """Fail a request whose checks did not return in time, and name those that are running."""
        names = sorted(set(self._running.copy().values()))
        for name in names:
            self._fail(name, f"not finished within {self._seconds:g} s")
        lines = [f"[-]{name} failed: reason withheld" for name in names]
        return Response(500, "\n".join([*lines, f"{self._name} check failed", ""]))

    def _failure_of(self, name: str, check: Check) -> str | None:
        """Run a check and return the reason of its failure, or None; log when it starts failing and recovers."""
        call = object()
        self._running[call] = name
        try:
            run_callback(_checked, check)
        except CallbackFailed as error:
            self._fail(name, str(error))
            return str(error)
        finally:
            del self._running[call]
        if self._failing.pop(name, None) is not None:
            log.info("check passing again", extra={"probe": self._name, "check": name})
        return None

    def _fail(self, name: str, failure: str) -> None:
        if self._failing.get(name) is None:
            log.warning("check failing", extra={"probe": self._name, "check": name, "reason": failure})
        self._failing[name] = failure


def _checked(check: Check) -> None:
    finished(check())
