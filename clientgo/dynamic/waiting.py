"""Waiting for a state of objects, by watch: a condition, a value, a function, a rollout, or deletion (`kubectl wait`).

    wait_for(clientset, deployment, condition="Available", timeout=120)
    wait_for(clientset, deployment, condition="rolled out", timeout=120)
    wait_for(clientset, *jobs, condition="Complete")
    wait_for(clientset, pod, condition=lambda pod: pod.status.phase == "Running")
    wait_for(clientset, namespace, condition="deleted")

Conditions are judged as kubectl does, by all that the server sent.
"""

import json
import re
from collections.abc import Callable, Mapping
from types import CoroutineType
from typing import Any, TypeVar

from clientgo.cache.watchtools import Interrupted, until
from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.dynamic.client import dynamic_client
from clientgo.dynamic.rollout import RolloutFailed, rollout_status
from clientgo.dynamic.unstructured import PartialObjectMetadata, Unstructured
from clientgo.errors import ApiError, BadRequest, ClientGoError, ConnectionFailed, NotFound
from clientgo.log import get_logger
from clientgo.meta import conditions, jsonpath
from clientgo.meta.codec import from_dict, to_dict
from clientgo.meta.listwatch import ListOptions, WatchEvent
from clientgo.meta.names import object_name
from clientgo.meta.objects import ApiObject, GroupVersionResource, ObjectMeta
from clientgo.meta.scheme import api_of
from clientgo.meta.selectors import field_selector_for
from clientgo.rest.deadlines import DeadlineRequester
from clientgo.rest.limits import Deadline, started_deadline
from clientgo.rest.request import Requester
from clientgo.typed.clientset import BaseClientset

log = get_logger(__name__)

T = TypeVar("T", bound=ApiObject)

DELETED = "deleted"
"""Condition of an object that no longer exists, or that has been replaced by another one of its name."""

ROLLED_OUT = "rolled out"
"""Condition of a Deployment, StatefulSet or DaemonSet whose rollout is complete (`kubectl rollout status`)."""

JSON_PATH = "jsonpath="
"""Prefix of a condition that is a JSON path, with or without the value that it must lead to."""

MAX_EVENTS = 3
"""Maximum number of events in the message of a `WaitTimeout`."""

EVENTS_TIMEOUT = 0.5
"""Seconds after the timeout in which the events for the message of a `WaitTimeout` may be read."""

_EARLY = 0.01
"""Seconds before a deadline at which a wait for it may end, because timers are not exact."""

_EQUALS = re.compile(r"(?<![=!<>])=(?!=)")

_BALANCED = re.compile(r"\{[^{}]*\}|[^{}]*").fullmatch

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
    timeout: float | None = 60.0,
    clock: Clock = SYSTEM_CLOCK,
) -> list[T]:
    """Wait until each object has the state, within `timeout` seconds for all; return their last states.

    A `condition` is the type of a status condition that must be `True` (`Ready`) or have the status that is given
    (`Ready=False`); a `jsonpath={.status.phase}=Running`, or without a value for a field that must exist; `rolled out`
    for a Deployment, StatefulSet or DaemonSet; `deleted`; or a function of the object. As in kubectl, a condition of an
    older generation does not count: its own `observedGeneration` decides, else that of the status.

    The timeout includes all requests and retries; None means no limit. With 0 the objects are read once.

    Raises:
        BadRequest: an object has no name, or no namespace though its kind is namespaced.
        TypeError: the condition is a coroutine function.
        ValueError: the JSON path is invalid, or leads to several values, an object or a list to be compared; or the
            kind has no rollout.
        WaitTimeout: an object did not reach the state; the message has its conditions and last events.
        RolloutFailed: the rollout exceeded its progress deadline, or the object was deleted meanwhile.
        NotFound: an object does not exist, and its deletion is not awaited.
        Undecodable: an object does not fit its class.
        WatchClosed: the program stops.
        ApiError, ConnectionFailed: a request failed.
    """
    for obj in objects:
        if isinstance(obj, str):
            raise TypeError(f"expected an object, got {obj!r}: give a condition by name, condition={obj!r}")
        if callable(obj):
            raise TypeError(f"expected an object, got {obj!r}: give a function by name, condition=function")
    requester = target.requester if isinstance(target, BaseClientset) else target
    reads_once = timeout is not None and timeout <= 0
    deadline = started_deadline(None if reads_once else timeout, clock)
    waits = [_Wait(requester, obj, condition, deadline, clock) for obj in objects]
    return [wait.run(timeout) for wait in waits]


class _Wait:
    """Wait for the state of one object, which is judged by all that the server sent, not only the fields of its class.

    A class may lack fields that decide, such as `observedGeneration`.
    """

    def __init__(
        self,
        requester: Requester,
        obj: Any,
        condition: str | Callable[[Any], bool],
        deadline: Deadline,
        clock: Clock,
    ) -> None:
        self._requester = requester
        self._clock = clock
        self._timeout: float | None = None
        self._deadline = deadline
        self._condition = condition
        self._class: type[Any] = type(obj)
        self._is_met = _test_of(condition, self._class)
        self._given = obj
        self._content: Mapping[str, Any] = {}
        self._uid = obj.metadata.uid
        self._name = object_name(obj)
        api = api_of(self._class)
        kind = "" if issubclass(self._class, PartialObjectMetadata) else api.kind
        self._what = f"{kind or api.plural} {self._name}"
        if not self._name.name:
            raise BadRequest("resource name may not be empty")
        if api.namespaced and not self._name.namespace:
            raise BadRequest(f"a namespace must be given to wait for a {kind or api.plural}")
        cls = dynamic_client(api.gvr, kind=kind, namespaced=api.namespaced)
        self._client = cls(DeadlineRequester(requester, deadline), self._name.namespace)

    def run(self, timeout: float | None) -> Any:
        """Return the last state of the object once it has the awaited one."""
        self._timeout = timeout
        try:
            while not self._is_reached():
                pass
        except Interrupted as error:
            message = f"{self._message()}; last events: {'; '.join(self._events()) or 'none'}"
            raise WaitTimeout(message, self._last_state()) from error
        except (ApiError, ConnectionFailed) as error:
            if self._deadline.remaining() > _EARLY or not _is_late(error):
                raise
            raise WaitTimeout(f"{self._message()}; last error: {error}", self._last_state()) from error
        return self._last_state()

    def _is_reached(self) -> bool:
        """List, then watch; return False if the server no longer has the next change.

        Raises:
            Interrupted: the deadline has passed.
        """
        options = ListOptions(field_selector=field_selector_for({"metadata.name": self._name.name}))
        page = self._client.list_page(options)
        for undecodable in page.undecodable:
            if self._is_named(undecodable.metadata):
                raise undecodable
        stored = next((item for item in page.items if self._is_named(item.metadata)), None)
        if stored is None and self._condition != DELETED:
            self._check_rollout(is_deleted=bool(self._content))
            raise NotFound(f"{self._what} does not exist")
        if stored is None or self._holds(stored):
            return True
        if self._timeout is not None and self._timeout <= 0:
            raise Interrupted("not met when read once")
        try:
            until(
                [self._event_holds], self._client, page.metadata.resource_version, options=options,
                timeout=max(0.0, self._deadline.remaining()), clock=self._clock,
            )  # fmt: skip
        except ApiError as error:
            if error.code != 410:
                raise
            return False
        return True

    def _is_named(self, metadata: ObjectMeta) -> bool:
        # Some aggregated API servers ignore field selectors.
        return (metadata.name, metadata.namespace) == (self._name.name, self._name.namespace)

    def _event_holds(self, event: WatchEvent[Unstructured]) -> bool:
        if not self._is_named(event.object.metadata):
            return False
        if event.type == "DELETED":
            self._check_rollout(is_deleted=True)
            return self._condition == DELETED
        return self._holds(event.object)

    def _holds(self, obj: Unstructured) -> bool:
        # Without a uid, that of the first object read.
        self._uid = self._uid or obj.metadata.uid
        is_other: bool = obj.metadata.uid != self._uid
        if self._condition == DELETED:
            return is_other
        self._check_rollout(is_deleted=is_other)
        self._content = obj.to_dict()
        return self._is_met(self._content)

    def _check_rollout(self, *, is_deleted: bool) -> None:
        if is_deleted and self._condition == ROLLED_OUT:
            raise RolloutFailed(f"{self._what}: object has been deleted")

    def _last_state(self) -> Any:
        return from_dict(self._class, self._content) if self._content else self._given

    def _message(self) -> str:
        what = self._condition if isinstance(self._condition, str) else "the condition"
        content = self._content or to_dict(self._given)
        states = [
            f"{item.get('type')}={item.get('status')}" + (f" ({item['message']})" if item.get("message") else "")
            for item in conditions.conditions_of(content)
        ]
        progress = f": {rollout_status(content).message}" if what == ROLLED_OUT and self._content else ""
        return (
            f"{self._what}: timed out after {self._timeout or 0:g} s waiting for {what}{progress}; "
            f"conditions: {', '.join(states) or 'none'}"
        )

    def _events(self) -> list[str]:
        uid = self._content.get("metadata", {}).get("uid", self._uid)
        about = {"involvedObject.name": self._name.name, "involvedObject.uid": uid}
        requester = DeadlineRequester(self._requester, started_deadline(EVENTS_TIMEOUT, self._clock))
        client = dynamic_client(_EVENTS)(requester, self._name.namespace or "default")
        try:
            items = client.list(field_selector=field_selector_for(about)).items
        except ClientGoError as error:  # also of the limit of a reconciliation, which may be over
            log.debug("unable to list events", extra={"err": error})
            return []
        items.sort(key=lambda event: str(event.get("lastTimestamp") or event.get("eventTime") or ""))
        return [f"{event.get('reason')}: {event.get('message')}" for event in items[-MAX_EVENTS:]]


def _is_late(error: ApiError | ConnectionFailed) -> bool:
    """Return whether a request failed because of the time that it had: for an answer, or for retries."""
    if isinstance(error, ConnectionFailed):
        return error.timeout
    return error.code == 429 or error.code >= 500


def _test_of(condition: str | Callable[[Any], bool], cls: type[Any]) -> Callable[[Mapping[str, Any]], bool]:
    """Return the test of an object in JSON form."""
    if not isinstance(condition, str):
        return lambda content: _plain(condition(from_dict(cls, content)))
    if condition == ROLLED_OUT:
        return lambda content: rollout_status(content).is_complete
    if not condition.startswith(JSON_PATH):
        return lambda content: conditions.has_condition(content, condition)
    text, braces, value = condition.removeprefix(JSON_PATH).partition("}=")
    if braces:
        text += "}"
    elif not text.endswith("}"):
        text, *values = _EQUALS.split(text, maxsplit=1)
        braces, value = ("=", values[0]) if values else ("", "")
    path = jsonpath.parse(text) if _BALANCED(text) else None
    if path is None or not path.steps:
        raise ValueError(f"invalid condition {condition!r}: expected jsonpath={{.field}} or jsonpath={{.field}}=value")
    return lambda content: _leads_to(path, content, value.strip("'\"") if braces else None)


def _plain(result: object) -> bool:
    if isinstance(result, CoroutineType):
        result.close()
        raise TypeError("invalid condition: expected a function that returns a bool, got a coroutine function")
    return bool(result)


def _leads_to(path: jsonpath.JSONPath, content: Mapping[str, Any], expected: str | None) -> bool:
    values = path.find(content)
    if expected is None or not values:
        return bool(values)
    if len(values) > 1 or isinstance(values[0], dict | list):
        raise ValueError(f"JSON path {path.text!r} leads to {values!r}: expected a single number, text or boolean")
    (value,) = values
    return (value if isinstance(value, str) else json.dumps(value)).strip() == expected.strip()


def has_condition(obj: ApiObject, expected: str) -> bool:
    """Return whether a status condition describes the current spec and has a status: `Ready`, or `Ready=False`."""
    return conditions.has_condition(to_dict(obj), expected)
