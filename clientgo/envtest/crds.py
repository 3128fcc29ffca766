"""Installing CustomResourceDefinitions from YAML files, and waiting until the server serves them."""

import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import yaml

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import AlreadyExists, ConfigError, NotFound
from clientgo.meta.codec import encode_value
from clientgo.meta.objects import GroupVersionResource
from clientgo.rest.request import Request, Requester

CRDS = GroupVersionResource("apiextensions.k8s.io", "v1", "customresourcedefinitions")

WAIT_SECONDS = 10.0
"""How long a new kind may take until it is served (controller-runtime's envtest waits as long)."""

POLL_SECONDS = 0.05


def read_crds(paths: Iterable[Path]) -> list[dict[str, Any]]:
    """Every CustomResourceDefinition in these YAML files, or in the YAML files of these folders.

    Raises:
        ConfigError: a path does not exist or is not YAML.
    """
    found: list[dict[str, Any]] = []
    for path in paths:
        if not path.exists():
            raise ConfigError(f"{path} does not exist: no CRDs can be read from it")
        files = sorted([*path.glob("*.yaml"), *path.glob("*.yml")]) if path.is_dir() else [path]
        for file in files:
            found += [doc for doc in _documents(file) if doc.get("kind") == "CustomResourceDefinition"]
    return found


def install(requester: Requester, crds: Iterable[Mapping[str, Any]], *, clock: Clock = SYSTEM_CLOCK) -> None:
    """Create these CRDs, or bring existing ones to this state, and wait until their kinds are served.

    Raises:
        ApiError: the server refuses one.
        ConfigError: one is not served after `WAIT_SECONDS`.
    """
    names = []
    for crd in crds:
        name = str(crd["metadata"]["name"])
        names.append(name)
        try:
            requester.do(Request(verb="create", resource=CRDS, body=encode_value(crd)))
        except AlreadyExists:
            _update(requester, name, crd)
    for name in names:
        _wait_until_served(requester, name, clock)


def uninstall(requester: Requester, crds: Iterable[Mapping[str, Any]]) -> None:
    """Delete these CRDs, and with them every object of their kinds; absent ones are no matter."""
    for crd in crds:
        try:
            requester.do(Request(verb="delete", resource=CRDS, name=str(crd["metadata"]["name"])))
        except NotFound:
            continue


def _documents(file: Path) -> list[dict[str, Any]]:
    try:
        return [doc for doc in yaml.safe_load_all(file.read_text(encoding="utf-8")) if isinstance(doc, dict)]
    except (OSError, yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file} can't be read as YAML: {error}") from error


def _update(requester: Requester, name: str, crd: Mapping[str, Any]) -> None:
    current = msgspec.json.decode(requester.do(Request(verb="get", resource=CRDS, name=name)))
    version = current["metadata"]["resourceVersion"]
    body = encode_value({**crd, "metadata": {**crd["metadata"], "resourceVersion": version}})
    requester.do(Request(verb="update", resource=CRDS, name=name, body=body))


def _wait_until_served(requester: Requester, name: str, clock: Clock) -> None:
    deadline = clock.now() + WAIT_SECONDS
    while True:
        crd = msgspec.json.decode(requester.do(Request(verb="get", resource=CRDS, name=name)))
        conditions = {c["type"]: c["status"] for c in crd.get("status", {}).get("conditions") or ()}
        if conditions.get("Established") == "True":
            return
        if clock.now() >= deadline:
            raise ConfigError(f"CRD {name} is not established after {WAIT_SECONDS:g} s: conditions {conditions}")
        clock.sleep(threading.Event(), POLL_SECONDS)
