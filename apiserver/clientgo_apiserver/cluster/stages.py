"""Stages: rules that move objects of any kind through their life, as KWOK's users know them.

A Stage selects objects of a kind, waits, and applies its `next`: patches, finalizers, or a deletion. What a program
under test depends on (certificates, databases, other operators) is simulated by a few of them:

    apiVersion: kwok.x-k8s.io/v1alpha1
    kind: Stage
    metadata: {name: certificate-ready}
    spec:
      resourceRef: {apiGroup: cert-manager.io/v1, kind: Certificate}
      selector:
        matchExpressions:
        - {key: '.status.conditions.[] | select( .type == "Ready" ) | .status', operator: NotIn, values: ["True"]}
      delay: {durationMilliseconds: 500, jitterDurationMilliseconds: 1000}
      next:
        statusTemplate: |
          conditions: [{type: Ready, status: "True", lastTransitionTime: {{ Now }}}]

Templates are YAML in which `{{ Now }}` and paths such as `{{ .metadata.name }}` are replaced; other functions of Go's
templates are rejected. Stages come from files, and from objects of that kind once its CRD is installed.
"""

import json
import random
import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import msgspec

from clientgo.errors import ConfigError
from clientgo.internal.patterns import lazy_pattern
from clientgo.log import get_logger
from clientgo.meta.yamlio import InvalidYAML, read_yaml
from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.cluster.base import InternalController
from clientgo_apiserver.cluster.internal import Internal
from clientgo_apiserver.cluster.jqpaths import values_at
from clientgo_apiserver.state import Handle
from clientgo_apiserver.storage.keys import PODS
from clientgo_apiserver.storage.stored import Key, name_of

_log = get_logger(__name__)

STAGES: Key = ("kwok.x-k8s.io", "stages")
_EXPRESSION = lazy_pattern(r"\{\{([^{}]*)\}\}")
_DELAY_FIELDS = frozenset(("durationMilliseconds", "jitterDurationMilliseconds"))
_NEXT_FIELDS = frozenset(("statusTemplate", "statusSubresource", "patches", "finalizers", "delete", "event"))


class Stage(msgspec.Struct, frozen=True):
    """One rule, as its object describes it.

    Raises:
        ConfigError: the object is not a Stage, or uses something that is not supported.
    """

    name: str
    group: str
    kind: str
    selector: Object
    weight: int
    delay: float
    jitter: float
    next: Object

    @classmethod
    def read(cls, obj: Object) -> "Stage":
        """Read a Stage object."""
        name = str((obj.get("metadata") or {}).get("name", ""))
        spec = obj.get("spec") or {}
        reference, delay, following = spec.get("resourceRef") or {}, spec.get("delay") or {}, spec.get("next") or {}
        unknown = [f"delay.{field}" for field in delay if field not in _DELAY_FIELDS]
        unknown += [f"next.{field}" for field in following if field not in _NEXT_FIELDS]
        if obj.get("kind") != "Stage" or not reference.get("kind"):
            raise ConfigError(f"stage {name!r}: expected an object of kind Stage with spec.resourceRef.kind")
        if unknown:
            raise ConfigError(f"stage {name!r}: spec.{unknown[0]} is not supported")
        selector = spec.get("selector") or {}
        for expression in selector.get("matchExpressions") or ():
            _checked(name, partial(values_at, {}, expression.get("key", "")))
        for template in _templates(following):
            _checked(name, partial(render, template, {}, ""))
        group, _, _ = str(reference.get("apiGroup") or "").rpartition("/")
        milliseconds, jitter = (
            float(delay.get(field) or 0) for field in ("durationMilliseconds", "jitterDurationMilliseconds")
        )
        weight = int(spec.get("weight") or 0)
        # KWOK's jitter is the longest delay, if it is longer than the duration.
        return cls(
            name,
            group,
            reference["kind"],
            selector,
            weight,
            milliseconds / 1000,
            max(0.0, jitter - milliseconds) / 1000,
            following,
        )

    def selects(self, obj: Object) -> bool:
        """Return whether the stage applies to an object of its kind."""
        meta = obj["metadata"]
        for field, member in (("matchLabels", "labels"), ("matchAnnotations", "annotations")):
            if not (self.selector.get(field) or {}).items() <= (meta.get(member) or {}).items():
                return False
        return all(_holds(expression, obj) for expression in self.selector.get("matchExpressions") or ())


class StageController(InternalController):
    """Applies stages to the objects that they select; the one of the highest weight, at random among equals."""

    _further = None

    def __init__(self, internal: Internal, stages: Iterable[Stage] = (), *, rand: random.Random | None = None) -> None:
        super().__init__(internal)
        self._stages: dict[str, Stage] = {stage.name: stage for stage in stages}
        self._rand = rand or random.Random(1)  # nosec B311  # reproducible
        self._timers: dict[str, tuple[str, Handle]] = {}

    def __repr__(self) -> str:
        return f"<StageController {len(self._stages)} stages, {len(self._timers)} waiting>"

    def start(self) -> None:
        """Apply the stages to all stored objects, and react to every change from now on."""
        super().start()
        for obj in self._store.list(STAGES):
            self._read(obj)
        self._schedule_all()

    def _schedule_all(self) -> None:
        for key in () if not self._stages else self._store.stored_keys():
            for obj in self._store.list(key):
                self._changed("ADDED", key, None, obj)

    def _changed(self, kind: str, key: Key, old: Object | None, new: Object | None) -> None:
        if key == STAGES:
            if old is not None:
                self._stages.pop(old["metadata"]["name"], None)
            if new is not None:
                self._read(new)
            self._state.call_soon(self._schedule_all)
        elif new is None:
            self._cancel((old or {})["metadata"]["uid"])
        elif self._stages and any(
            stage.kind == new.get("kind") and stage.group == key[0] for stage in self._stages.values()
        ):
            self._schedule(*key, *name_of(new))

    def _read(self, obj: Object) -> None:
        try:
            stage = Stage.read({"kind": "Stage", **obj})
        except ConfigError as error:
            _log.error("stage is ignored", extra={"err": str(error)})
        else:
            self._stages[stage.name] = stage

    def _cancel(self, uid: str) -> None:
        timer = self._timers.pop(uid, None)
        if timer is not None:
            timer[1].cancel()

    def _sync(self, *names: str) -> None:
        group, plural, namespace, name = names
        obj = self._store.get((group, plural), namespace, name)
        if obj is None:
            return
        uid = obj["metadata"]["uid"]
        waiting, matching = self._timers.get(uid), self._matching(group, obj)
        if waiting is not None and any(stage.name == waiting[0] for stage in matching):
            return  # the stage still applies, and its delay runs
        self._cancel(uid)
        if matching:
            stage = self._rand.choice(matching)
            delay = stage.delay + self._rand.uniform(0.0, stage.jitter)
            self._timers[uid] = stage.name, self._later(delay, self._apply, stage, names, uid)

    def _matching(self, group: str, obj: Object) -> list[Stage]:
        stages = [each for each in self._stages.values() if (each.group, each.kind) == (group, obj.get("kind"))]
        selected = [stage for stage in stages if stage.selects(obj)]
        highest = max((stage.weight for stage in selected), default=0)
        return [stage for stage in selected if stage.weight == highest]

    def _apply(self, stage: Stage, names: tuple[str, ...], uid: str) -> None:
        group, plural, namespace, name = names
        key = (group, plural)
        self._timers.pop(uid, None)
        obj = self._store.get(key, namespace, name)
        if obj is None or obj["metadata"]["uid"] != uid or not stage.selects(obj):
            return
        target = (namespace, name)
        for patch, subresource in self._patches(stage, obj):
            write = partial(self._internal.patch, key, *target, patch, subresource=subresource)
            self._attempt(f"apply stage {stage.name}", target, write)
        if stage.next.get("delete"):
            grace = 0 if key == PODS else None
            delete = partial(self._internal.delete, key, *target, uid=uid, grace=grace)
            self._attempt(f"apply stage {stage.name}", target, delete)
        elif self._store.get(key, *target) is not None:
            self._schedule(*names)  # the next stage, also if this one changed nothing that is selected

    def _patches(self, stage: Stage, obj: Object) -> Iterable[tuple[Object, str]]:
        following, now = stage.next, self._now()
        finalizers = following.get("finalizers") or {}
        if finalizers:
            present = list(obj["metadata"].get("finalizers") or ())
            removed = {each["value"] for each in finalizers.get("remove") or ()}
            added = [each["value"] for each in finalizers.get("add") or () if each["value"] not in present]
            remaining = [] if finalizers.get("empty") else [value for value in present if value not in removed]
            yield {"metadata": {"finalizers": [*remaining, *added] or None}}, ""
        for patch in following.get("patches") or ():
            content, root = render(patch.get("template", ""), obj, now), patch.get("root")
            yield ({root: content} if root else content), patch.get("subresource") or ""
        if following.get("statusTemplate"):
            subresource = following.get("statusSubresource") or "status"
            yield {"status": render(following["statusTemplate"], obj, now)}, subresource


def read_stages(documents: Iterable[Object]) -> list[Stage]:
    """Read Stage objects, as from files.

    Raises:
        ConfigError: one is not a Stage, or uses something that is not supported.
    """
    return [Stage.read(document) for document in documents]


def render(template: str, obj: Mapping[str, Any], now: str) -> Any:
    """Return the content of a template for an object.

    Raises:
        ValueError: it uses a function that is not supported, or is not YAML.
    """

    def value(match: re.Match[str]) -> str:
        expression = match[1].strip("- \n")
        if expression == "Now":
            return json.dumps(now)
        if not expression.startswith("."):
            raise ValueError(
                f"template expression {expression!r} is not supported: use Now, or a path as .metadata.name"
            )
        values = values_at(obj, expression)
        return json.dumps(values[0] if values else None)

    try:
        return next(iter(read_yaml(_EXPRESSION.sub(value, template))), None)
    except InvalidYAML as error:
        raise ValueError(f"template is not YAML: {error}") from error


def _templates(following: Object) -> Iterable[str]:
    yield following.get("statusTemplate") or ""
    for patch in following.get("patches") or ():
        yield patch.get("template") or ""


def _checked(name: str, check: Callable[[], object]) -> None:
    try:
        check()
    except ValueError as error:
        raise ConfigError(f"stage {name!r}: {error}") from error


def _holds(expression: Object, obj: Object) -> bool:
    present = [_text(value) for value in values_at(obj, expression["key"])]
    operator, values = expression.get("operator"), expression.get("values") or []
    if operator == "Exists":
        return bool(present)
    if operator == "DoesNotExist":
        return not present
    return any(value in values for value in present) is (operator == "In")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
