"""Scenario: an operator, the steps of its user, and what is expected; and its CustomResourceDefinitions."""

import functools
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass
from pathlib import Path
from typing import Any, Protocol, get_type_hints

import msgspec

from clientgo.codegen.crd.manifest import definitions_of as definitions_of_classes
from clientgo.codegen.crd.manifest import open_definition
from clientgo.codegen.inputs.apitypes import check_class
from clientgo.codegen.problems import Problems
from clientgo.errors import ConfigError
from clientgo.manager import Options, Reconciler
from clientgo.meta.classes.check import is_built_in
from clientgo.meta.manifests import name_of, read_crds
from clientgo.meta.scheme import ApiType, api_of
from clientgo.perturb.compare import OUTSIDE
from clientgo.perturb.oracles.table import ORACLES
from clientgo.perturb.programs.admission import Register
from clientgo.perturb.programs.inprocess import Operators
from clientgo.perturb.programs.processes import OperatorCommand
from clientgo.perturb.state import ClusterState, Object
from clientgo.perturb.steps import ScenarioStep

PLAIN_OPTIONS = ("name", "ignore", "any_order", "allow", "lasting", "off", "settle", "examples")
"""Options of a scenario whose values are plain, as in a file."""


class Invariant(Protocol):
    """Property that the user requires of the state at every revision, or at rest only."""

    def __call__(self, state: ClusterState, /) -> object:
        """Return None or True if it holds, else False or a text; or raise any exception."""


class Outside(Protocol):
    """System outside the cluster that the operator changes, in this process.

    If it has a method `observe(state)`, that is called with the `ClusterState` at every revision: what it has of an
    object can end with it, as a release on a cluster that is deleted.
    """

    def reset(self) -> None:
        """Forget everything, before a run."""

    def state(self) -> Any:
        """Return the current state, made of dicts, lists and plain values: a copy."""


@dataclass(frozen=True)
class Scenario:
    """Operator, steps and expectations.

    `setup` is a reconciler class, a list of them, a function that adds controllers to a new manager, a `Standalone`
    program, or an `OperatorCommand`. `crds` are files, folders, dicts or classes; those of kinds of this
    process, which a reconciler declares or a step creates, are derived from their classes.
    `invariants` are functions of a `ClusterState`, checked at every revision, `at_rest` after each step. `ignore` masks
    fields, and `any_order` those whose values are assigned in the order of service (see `Masks`). `allow` names how
    many objects of a resource may exist at a time or stay behind, `lasting` resources whose objects stay on purpose,
    such as `namespaces`. `off` switches oracles off, each with a reason. `examples` are further values of fields of
    custom resources, by path as in `spec.size`. `webhooks` registers the validating webhooks that the user's writes
    pass, as `register` in the webhooks/server.py of scaffolded projects does. The operator is quiet once it has not
    written for `settle` seconds of its clock.
    """

    setup: Operators | OperatorCommand
    steps: Sequence[ScenarioStep]
    name: str = "scenario"
    crds: Sequence[Path | str | Object | type] = ()
    invariants: Sequence[Invariant] = ()
    at_rest: Sequence[Invariant] = ()
    outside: Outside | None = None
    ignore: Sequence[str] = ()
    allow: Mapping[str, int] = field(default_factory=dict)
    off: Mapping[str, str] = field(default_factory=dict)
    settle: float = 60.0
    examples: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    lasting: Sequence[str] = ()
    any_order: Sequence[str] = ()
    webhooks: Register | None = None
    options: Options = field(default_factory=lambda: Options(name="perturbed"))

    def __post_init__(self) -> None:
        if isinstance(self.setup, str) or not isinstance(self.steps, Sequence):
            raise ConfigError("invalid scenario: expected Scenario(setup, steps, name=...), in this order")
        for name in PLAIN_OPTIONS:
            try:
                msgspec.convert(getattr(self, name), _hints()[name])
            except msgspec.ValidationError as error:
                raise ConfigError(f"invalid {name} of scenario {self.name}: {error}") from error
        if not self.settle >= 0:
            raise ConfigError(f"invalid settle of scenario {self.name}: expected seconds, not {self.settle:g}")
        if self.outside is not None and not (hasattr(self.outside, "reset") and hasattr(self.outside, "state")):
            raise ConfigError(f"invalid outside {self.outside!r}: expected an object with reset() and state()")
        if not self.steps:
            raise ConfigError(f"scenario {self.name} has no steps")
        for name, reason in self.off.items():
            if name not in ORACLES:
                raise ConfigError(f"invalid oracle {name!r}: expected one of {', '.join(ORACLES)}")
            if not reason:
                raise ConfigError(f"oracle {name} is switched off without a reason")

    def resources(self) -> set[str]:
        """Return the resources that the options name."""
        fields = {text.partition(":")[0] for text in (*self.ignore, *self.any_order)}
        return {*fields, *self.allow, *self.lasting} - {OUTSIDE}


@functools.cache
def _hints() -> dict[str, Any]:
    return get_type_hints(Scenario)


def definitions_of(
    setup: object, definitions: Sequence[Path | str | Object | type], steps: Iterable[ScenarioStep] = ()
) -> list[Object]:
    """Return the definitions that are given as files, folders, dicts or classes, and those of other kinds.

    These are the kinds of a reconciler, and of the objects in the steps. The version that is in use is stored, because
    no webhook is called that converts it to another one.

    Raises:
        ConfigError: a file cannot be read, a class cannot be described, or several versions are in use.
    """
    documents = [obj for obj in definitions if isinstance(obj, dict)]
    documents += read_crds([Path(path) for path in definitions if isinstance(path, str | Path)])
    classes = [cls for cls in definitions if isinstance(cls, type)]
    without_schema = [open_definition([api]) for api in map(_checked_api, classes) if api is not None]
    declared = (*_kinds_of(setup), *(kind for step in steps for kind in step.kinds))
    classes += (kind for kind in declared if not is_built_in(kind))
    by_name = {name_of(crd): crd for crd in (*without_schema, *_derived(classes))}
    documents += [crd for name, crd in by_name.items() if name not in set(map(name_of, documents))]
    in_use = dict.fromkeys(pair for step in steps for pair in step.versions)
    in_use |= dict.fromkeys((api.api_version, api.kind) for api in map(api_of, declared))
    return [_with_version_in_use(document, in_use) for document in documents]


def _checked_api(cls: type[Any]) -> ApiType | None:
    """Return the kind of a class that has no schema; None for others."""
    try:
        api = api_of(cls)
    except TypeError as error:
        raise ConfigError(f"invalid class in crds: {error}") from error
    return None if is_dataclass(cls) or is_built_in(cls) else api


def _with_version_in_use(definition: Object, in_use: Container[tuple[str, str]]) -> Object:
    spec = definition["spec"]
    versions = [each["name"] for each in spec["versions"]]
    used = [version for version in versions if (f"{spec['group']}/{version}", spec["names"]["kind"]) in in_use]
    if len(used) > 1 and (spec.get("conversion") or {}).get("strategy") == "Webhook":
        raise ConfigError(
            f"scenario and operator use {' and '.join(used)} of {name_of(definition)}, and perturbation calls no "
            "conversion webhook: use one version"
        )
    if len(used) != 1:
        return definition
    fields = {name: value for name, value in spec.items() if name != "conversion"}
    stored = [{**each, "storage": each["name"] == used[0]} for each in spec["versions"]]
    return {**definition, "spec": {**fields, "versions": stored}}


def _kinds_of(setup: object) -> Iterable[type[Any]]:
    for cls in setup if isinstance(setup, Sequence) else [setup]:
        if isinstance(cls, type) and issubclass(cls, Reconciler):
            yield from cls.declaration.kinds()


def _derived(classes: Iterable[type[Any]]) -> list[Object]:
    problems = Problems()
    checked = [cls for cls in dict.fromkeys(classes) if is_dataclass(cls) and check_class(cls, problems)]
    definitions = definitions_of_classes(checked, problems)
    for problem in problems:
        raise ConfigError(problem)
    return definitions
