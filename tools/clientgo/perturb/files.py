"""Scenarios in YAML files: steps of manifests and patches, for an operator that a command runs.

    crds: [config/crd]
    steps:
      - create: foo.yaml
      - patch: {apiVersion: example.com/v1, kind: Foo, metadata: {name: a}, spec: {replicas: 3}}
      - advance: 10
      - delete: {apiVersion: example.com/v1, kind: Foo, metadata: {name: a}}
    ignore: ["foos.example.com:status.retries"]

A manifest is an object, a list of objects, or the path of a file next to the scenario's.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from clientgo.errors import ConfigError
from clientgo.meta.manifests import read_documents
from clientgo.perturb.programs.processes import OperatorCommand
from clientgo.perturb.scenario import PLAIN_OPTIONS, Scenario
from clientgo.perturb.state import Object
from clientgo.perturb.steps import ScenarioStep, advance, change, create, delete, mark_ready, replace

SETTLE_SECONDS = 3.0
"""Seconds, of real time, without a write after which an operator in another process is quiet."""


def read_scenario(path: Path, command: OperatorCommand) -> Scenario:
    """Return the scenario of a file, for the operator that `command` runs.

    Raises:
        ConfigError: the file, or one that it names, cannot be read or is invalid.
    """
    documents = read_documents([path])
    if len(documents) != 1:
        raise ConfigError(f"{path} must be one document with steps")
    options: dict[str, Any] = {"name": path.stem, "settle": SETTLE_SECONDS}
    options |= {name: value for name, value in documents[0].items() if value is not None}
    steps, crds = options.pop("steps", None), options.pop("crds", [])
    if unknown := options.keys() - set(PLAIN_OPTIONS):
        raise ConfigError(f"{path}: unknown field {min(unknown)!r}: expected crds, steps, {', '.join(PLAIN_OPTIONS)}")
    for name, value in (("steps", steps), ("crds", crds)):
        if not isinstance(value, list):
            raise ConfigError(f"{path}: {name} must be a list")
    actions = [_step(path, number, step) for number, step in enumerate(steps, 1)]
    return Scenario(command, actions, crds=[path.parent / str(crd) for crd in crds], **options)


def _step(path: Path, number: int, step: object) -> ScenarioStep:
    if not isinstance(step, dict) or len(step) != 1 or not (step.keys() <= _STEPS.keys()):
        raise ConfigError(f"{path}: step {number} must have one of {', '.join(_STEPS)}")
    [(verb, value)] = step.items()
    if verb == "advance":
        return advance(value)
    objects = _objects(path, number, value)
    if not objects or (verb in _OF_ONE and len(objects) > 1):
        raise ConfigError(
            f"{path}: {verb} in step {number} must have one object{'' if verb in _OF_ONE else ' or more'}"
        )
    return _STEPS[verb](objects)


def _objects(path: Path, number: int, value: object) -> list[Object]:
    if isinstance(value, str):
        return read_documents([path.parent / value])
    objects: list[Any] = value if isinstance(value, list) else [value]
    for obj in objects:
        if not (
            isinstance(obj, dict) and isinstance(obj.get("metadata"), dict) and {"apiVersion", "kind"} <= obj.keys()
        ):
            raise ConfigError(f"{path}: step {number} must have objects with apiVersion, kind and metadata")
    return objects


def _patch(objects: list[Object]) -> ScenarioStep:
    [obj] = objects
    names = ("apiVersion", "kind")
    metadata = {key: value for key, value in obj["metadata"].items() if key not in ("name", "namespace")}
    patch = {key: value for key, value in obj.items() if key not in (*names, "metadata")}
    return change(obj, {**patch, **({"metadata": metadata} if metadata else {})})


_STEPS: Mapping[str, Callable[[list[Object]], ScenarioStep]] = {
    "create": lambda objects: create(*objects),
    "patch": _patch,
    "replace": lambda objects: replace(objects[0]),
    "delete": lambda objects: delete(*objects),
    "ready": lambda objects: mark_ready(objects[0]),
    "advance": lambda objects: advance(0.0),
}
_OF_ONE = frozenset(("patch", "replace", "ready"))
