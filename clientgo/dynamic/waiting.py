"""Waiting for a state of objects, by watch: a condition, a value, a function, or deletion (`kubectl wait`).

wait_for(clientset, deployment, condition="Available", timeout=120)
wait_for(clientset, *jobs, condition="Complete")
wait_for(clientset, pod, condition=lambda pod: pod.status.phase == "Running")
wait_for(clientset, namespace, condition="deleted")
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from clientgo.cache.watchtools import Interrupted, until
from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.dynamic.client import dynamic_client
from clientgo.dynamic.unstructured import Unstructured
from clientgo.errors import ApiError, ClientGoError, ConnectionFailed, NotFound
from clientgo.log import get_logger
from clientgo.meta import jsonpath
from clientgo.meta.codec import to_dict
from clientgo.meta.listwatch import ListOptions, WatchEvent
from clientgo.meta.names import object_name
from clientgo.meta.objects import ApiObject, GroupVersionResource
from clientgo.meta.scheme import api_of
from clientgo.meta.selectors import field_selector_for
from clientgo.rest.request import Requester
from clientgo.typed.client import TypedClient
from clientgo.typed.clientset import BaseClientset

log = get_logger(__name__)

T = TypeVar("T", bound=ApiObject)

DELETED = "deleted"
"""Condition of an object that no longer exists, or that has been replaced by another one of its name."""

JSON_PATH = "jsonpath="
"""Prefix of a condition that is a JSON path, with or without the value that it must lead to."""

MAX_EVENTS = 3
"""Maximum number of events in the message of a `WaitTimeout`."""

_EQUALS = re.compile(r"(?<![=!<>])=(?!=)")

_EVENTS = GroupVersionResource("", "v1", "events")


class WaitTimeout(ClientGoError, TimeoutError):
    """The timeout passed before an object had the awaited state; `last` is its last state, or None."""

    def __init__(self, message: str, last: object = None) -> None:
        super().__init__(message)
        self.last = last

    def __reduce__(self) -> tuple[Any, ...]:
        # An OSError has its arguments only by its constructor.
        return type(self), self.args, vars(self)


def wait_for(
    target: BaseClientset | Requester,
    *objects: T,
    condition: str | Callable[[T], bool] = "Ready",
    timeout: float = 60.0,
    clock: Clock = SYSTEM_CLOCK,
) -> list[T]:
    """Wait until each object has the state, within `timeout` seconds for all; return their last states.

    A `condition` is the type of a status condition that must be `True` (`Ready`) or have the status that is given
    (`Ready=False`); a `jsonpath={.status.phase}=Running`, or without a value for a field that must exist; `deleted`; or
    a function of the object. As in kubectl, a condition of an older generation does not count.

    Raises:
        ValueError: the JSON path is invalid, or leads to several values, an object or a list to be compared.
        WaitTimeout: an object did not reach the state; the message has its conditions and last events.
        NotFound: an object does not exist, and its deletion is not awaited.
        WatchClosed: the program stops.
        ApiError, ConnectionFailed: a request failed.
    """
    requester = target.requester if isinstance(target, BaseClientset) else target
    deadline = clock.now() + timeout
    return [_Wait(requester, obj, condition, clock).run(deadline, timeout) for obj in objects]


class _Wait:
    """Wait for the state of one object."""

    def __init__(self, requester: Requester, obj: Any, condition: str | Callable[[Any], bool], clock: Clock) -> None:
        self._requester = requester
        self._clock = clock
        self._condition = condition
        self._is_met = _test_of(condition)
        self._last = obj
        self._uid = obj.metadata.uid
        self._name = object_name(obj)
        self._client = type("WaitingClient", (TypedClient,), {"kind": type(obj)})(requester, self._name.namespace)

    def run(self, deadline: float, timeout: float) -> Any:
        """Return the last state of the object once it has the awaited one."""
        options = ListOptions(field_selector=field_selector_for({"metadata.name": self._name.name}))
        while True:
            page = self._client.list_page(options)
            if not page.items and self._condition != DELETED:
                raise NotFound(f"{api_of(type(self._last)).kind} {self._name} does not exist")
            if not page.items or self._holds(page.items[0]):
                return self._last
            try:
                until(
                    [self._event_holds], self._client, page.metadata.resource_version, options=options,
                    timeout=max(0.0, deadline - self._clock.now()), clock=self._clock,
                )  # fmt: skip
            except Interrupted as error:
                raise WaitTimeout(self._message(timeout), self._last) from error
            except ApiError as error:
                if error.code != 410:
                    raise
                continue  # the server no longer has the next change
            return self._last

    def _event_holds(self, event: WatchEvent[Any]) -> bool:
        if event.type == "DELETED":
            return self._condition == DELETED
        return self._holds(event.object)

    def _holds(self, obj: Any) -> bool:
        if self._condition == DELETED:
            # Without a uid, that of the first object read.
            self._uid = self._uid or obj.metadata.uid
            return bool(obj.metadata.uid != self._uid)
        self._last = obj
        return self._is_met(obj)

    def _message(self, timeout: float) -> str:
        what = self._condition if isinstance(self._condition, str) else "the condition"
        states = [
            f"{item.get('type')}={item.get('status')}" + (f" ({item['message']})" if item.get("message") else "")
            for item in _conditions(self._last)
        ]
        return (
            f"{api_of(type(self._last)).kind} {self._name}: timed out after {timeout:g} s waiting for {what}; "
            f"conditions: {', '.join(states) or 'none'}; last events: {'; '.join(self._events()) or 'none'}"
        )

    def _events(self) -> list[str]:
        about = {"involvedObject.name": self._name.name, "involvedObject.uid": self._last.metadata.uid}
        client = dynamic_client(_EVENTS)(self._requester, self._name.namespace or "default")
        try:
            items = client.list(field_selector=field_selector_for(about)).items
        except (ApiError, ConnectionFailed) as error:
            log.debug("unable to list events", extra={"err": error})
            return []
        items.sort(key=lambda event: str(event.get("lastTimestamp") or event.get("eventTime") or ""))
        return [f"{event.get('reason')}: {event.get('message')}" for event in items[-MAX_EVENTS:]]


def _test_of(condition: str | Callable[[Any], bool]) -> Callable[[Any], bool]:
    if not isinstance(condition, str):
        return condition
    if not condition.startswith(JSON_PATH):
        return lambda obj: has_condition(obj, condition)
    text, braces, value = condition.removeprefix(JSON_PATH).partition("}=")
    if braces:
        text += "}"
    elif not text.endswith("}"):
        text, *values = _EQUALS.split(text, maxsplit=1)
        braces, value = ("=", values[0]) if values else ("", "")
    path = jsonpath.parse(text)
    if not path.steps:
        raise ValueError(f"invalid condition {condition!r}: expected jsonpath={{.field}} or jsonpath={{.field}}=value")
    return lambda obj: _leads_to(path, obj, value if braces else None)


def _leads_to(path: jsonpath.JSONPath, obj: ApiObject, expected: str | None) -> bool:
    values = path.find(to_dict(obj))
    if expected is None or not values:
        return bool(values)
    if len(values) > 1 or isinstance(values[0], dict | list):
        raise ValueError(f"JSON path {path.text!r} leads to {values!r}: expected a single number, text or boolean")
    (value,) = values
    return (value if isinstance(value, str) else json.dumps(value)).strip() == expected.strip()


def has_condition(obj: ApiObject, expected: str) -> bool:
    """Report whether a status condition of the current generation has a status: `Ready`, or `Ready=False`."""
    kind, _, status = expected.partition("=")
    generation = obj.metadata.generation or 0
    return any(
        str(item.get("type", "")).lower() == kind.lower()
        and str(item.get("status", "")).lower() == (status or "True").lower()
        and (item.get("observedGeneration") or generation) >= generation
        for item in _conditions(obj)
    )


def _conditions(obj: ApiObject) -> list[Mapping[str, Any]]:
    status = obj.get("status") if isinstance(obj, Unstructured) else to_dict(obj).get("status")
    return list(status.get("conditions") or ()) if isinstance(status, Mapping) else []
