"""Minor version of Kubernetes that a server serves, with its feature gates, and caches of facts that depend on them.

Each server has its own release. The code that answers its requests finds it by `current`: the thread of a server
activates its release once, and a server in memory whenever it is called.
"""

import re
import threading
from argparse import ArgumentTypeError
from collections.abc import Callable, Mapping
from functools import lru_cache, wraps
from os import environ
from typing import Any, ParamSpec, TypeVar

from clientgo.errors import ConfigError
from clientgo.program.flags import parse_bool
from clientgo.version import KUBERNETES, KUBERNETES_VERSIONS, minor_of
from clientgo_apiserver.releases.gates import Gate, gate_of, gates_of

P = ParamSpec("P")
R = TypeVar("R")

VARIABLE = "KUBERNETES_VERSION"
"""Environment variable with the default version."""
_VERSION = re.compile(r"v?(\d+\.\d+)(?:\.\d.*)?")
_GROUPS = {"AllAlpha": "Alpha", "AllBeta": "Beta"}
_CACHED_RELEASES = 16


class KubernetesRelease:
    """Version of Kubernetes, such as `1.36`, and the states of its gates."""

    def __init__(self, version: str, changed: Mapping[str, Gate]) -> None:
        self.version = version
        self.minor = minor_of(version)
        self._changed = changed
        self.caches: dict[Callable[..., Any], Callable[..., Any]] = {}

    def __repr__(self) -> str:
        return f"<KubernetesRelease {self.version}>"

    @property
    def gates(self) -> Mapping[str, Gate]:
        """The gates by name, read each time."""
        return {**gates_of(self.version), **self._changed}

    def enabled(self, name: str) -> bool:
        """Return whether a gate is on; one that this version does not have is off."""
        gate = self._changed.get(name) or gate_of(self.version, name)
        return gate is not None and gate.on

    def at_least(self, version: str) -> bool:
        """Return whether this version is the given one or a newer one."""
        return self.minor >= minor_of(version)

    def activate(self) -> None:
        """Make this the release of the calling thread."""
        _thread.release = self

    def run(self, function: Callable[[], R]) -> R:
        """Call a function in this release, in place of that of the calling thread."""
        before, _thread.release = _thread.release, self
        try:
            return function()
        finally:
            _thread.release = before


def release_of(version: str = "", feature_gates: str = "") -> KubernetesRelease:
    """Return the release of these options; the same one for equal options.

    Raises:
        ConfigError: the version is not supported, or a gate does not exist or cannot be set.
    """
    text = version or environ.get(VARIABLE) or KUBERNETES
    match = _VERSION.fullmatch(text)
    if match is None or match[1] not in KUBERNETES_VERSIONS:
        expected = f"{', '.join(KUBERNETES_VERSIONS[:-1])} or {KUBERNETES_VERSIONS[-1]}"
        raise ConfigError(f"unsupported Kubernetes version {text!r}: expected {expected}")
    return _release(match[1], feature_gates)


@lru_cache(maxsize=_CACHED_RELEASES)
def _release(version: str, feature_gates: str) -> KubernetesRelease:
    settings = _parse(feature_gates)
    return KubernetesRelease(version, _changed(gates_of(version), settings) if settings else {})


def _parse(feature_gates: str) -> dict[str, bool]:
    settings = {}
    for part in filter(None, map(str.strip, feature_gates.split(","))):
        name, _, value = part.partition("=")
        try:
            settings[name] = parse_bool(value)
        except ArgumentTypeError as error:
            raise ConfigError(f"invalid feature gate {part!r}: expected NAME=true or NAME=false") from error
    return settings


def _changed(gates: Mapping[str, Gate], settings: Mapping[str, bool]) -> dict[str, Gate]:
    changed: dict[str, Gate] = {}
    for group, stage in _GROUPS.items():
        if group in settings:
            unlocked = {name: gate for name, gate in gates.items() if gate.stage == stage and not gate.locked}
            changed |= {name: gate._replace(on=settings[group]) for name, gate in unlocked.items()}
    for name in settings.keys() - _GROUPS.keys():
        gate, on = gates.get(name), settings[name]
        if gate is None:
            raise ConfigError(f"unrecognized feature gate: {name}")
        if gate.locked and gate.on != on:
            raise ConfigError(
                f"cannot set feature gate {name} to {str(on).lower()}, feature is locked to {str(gate.on).lower()}"
            )
        changed[name] = gate._replace(on=on)
    return changed


class _Thread(threading.local):
    release = release_of(KUBERNETES)


_thread = _Thread()


def current() -> KubernetesRelease:
    """Return the release of the calling thread; the newest one by default."""
    return _thread.release


def cached_by_release(function: Callable[P, R], maxsize: int | None = None) -> Callable[P, R]:
    """Cache a function by its arguments, in each release; `maxsize` limits the results of a release."""

    @wraps(function)
    def call(*args: P.args, **options: P.kwargs) -> R:
        caches = _thread.release.caches
        cached = caches.get(function) or caches.setdefault(function, lru_cache(maxsize)(function))
        result: R = cached(*args, **options) if options else cached(*args)
        return result

    return call
