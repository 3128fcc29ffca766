"""Server at the start of a run, with the scenario's definitions; the runs of an engine start with its objects."""

import difflib
import random
from collections.abc import Collection, Iterable
from typing import Any

import msgspec

from clientgo.errors import ConfigError
from clientgo.perturb.programs.clock import WorldTime
from clientgo.perturb.programs.inprocess import PerturbedProgram
from clientgo.perturb.state import Object
from clientgo_apiserver.inmemory import InMemoryServer


def world_time(program: PerturbedProgram, variant: int) -> WorldTime:
    """Return the time at which the run of a program begins."""
    return WorldTime(program.epoch() + variant * 100_061.0)


def cluster_at_start(time: WorldTime, crds: Iterable[Object], variant: int) -> InMemoryServer:
    """Return the server before anything happens, from which worlds start; later versions depend on the variant."""
    random.seed(variant)
    server = InMemoryServer(time)
    for crd in crds:
        request(server, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd)
    for number in range(variant):
        request(server, "POST", "/api/v1/namespaces", {"metadata": {"name": f"shift-{number}"}})
        request(server, "DELETE", f"/api/v1/namespaces/shift-{number}")
    return server


def check_resources(server: InMemoryServer, names: Collection[str]) -> None:
    """Check the resources that a scenario names, as `deployments.apps`, if the server has their group.

    Definitions of other groups may be created by the operator.

    Raises:
        ConfigError: a group has no such resource.
    """
    if not names:
        return
    roots_by_group = {"": ["/api/v1"]}
    for each in request(server, "GET", "/apis")["groups"]:
        roots_by_group[each["name"]] = [f"/apis/{version['groupVersion']}" for version in each["versions"]]
    for name in names:
        plural, _, group = name.partition(".")
        roots = roots_by_group.get(group, [])
        served = sorted({each["name"] for root in roots for each in request(server, "GET", root)["resources"]})
        if served and plural not in served:
            near = (difflib.get_close_matches(plural, served, 1) or served)[0]
            expected = f"{near}{name.removeprefix(plural)}"
            raise ConfigError(f"there is no resource {name!r}: expected one such as {expected}")


def request(
    server: InMemoryServer, method: str, target: str, body: Any = None, content_type: str = "application/json"
) -> Object:
    """Send a request of the user, and return the response; AssertionError if it is an error."""
    data = b"" if body is None else msgspec.json.encode(body)
    reply = server.request(method, target, {"content-type": content_type}, data)
    result: Object = msgspec.json.decode(reply.body) if reply.body else {}
    if reply.status >= 400:
        raise AssertionError(f"{method} {target}: {reply.status} {result.get('message', '')}")
    return result
