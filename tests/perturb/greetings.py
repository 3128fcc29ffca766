"""Kind with controllers to perturb: a correct one, and broken ones, each with one bug."""

import os
from dataclasses import dataclass, field

from clientgo.errors import ApiError
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.manager import Reconciler, Result
from clientgo.meta import ObjectMeta, api_type, meta_for
from clientgo.meta import replace as changed


@dataclass(frozen=True)
class GreetingSpec:
    text: str = ""
    copies: int = 1
    labels: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class GreetingStatus:
    observed_generation: int = 0
    text: str = ""


@api_type(group="greetings.example.com", version="v1")
@dataclass(frozen=True)
class Greeting:
    metadata: ObjectMeta = ObjectMeta()
    spec: GreetingSpec = GreetingSpec()
    status: GreetingStatus = GreetingStatus()


def greeting(text: str = "hello", name: str = "a") -> Greeting:
    """Return a new Greeting."""
    return Greeting(metadata=ObjectMeta(name=name, namespace="default"), spec=GreetingSpec(text=text))


class Correct(Reconciler[Greeting], owns=[ConfigMap]):
    """Keeps a ConfigMap, and writes the status afterwards."""

    def reconcile(self, greeting: Greeting) -> None:
        self.client.apply(ConfigMap(metadata=meta_for(greeting), data={"text": greeting.spec.text}), owner=greeting)
        self.report(greeting)

    def report(self, greeting: Greeting) -> None:
        status = GreetingStatus(observed_generation=greeting.metadata.generation, text=greeting.spec.text)
        if greeting.status != status:
            self.client.update_status(changed(greeting, status=status))


class StatusFirst(Correct, name="status-first"):
    """Does nothing once the status says that it is done, and writes that first."""

    def reconcile(self, greeting: Greeting) -> None:
        if greeting.status.text != greeting.spec.text:
            self.report(greeting)
            config = ConfigMap(metadata=meta_for(greeting), data={"text": greeting.spec.text})
            self.client.apply(config, owner=greeting)


class RetriesLate(Reconciler[Greeting], owns=[ConfigMap], name="retries-late"):
    """Tries again some seconds after an error."""

    def reconcile(self, greeting: Greeting) -> Result:
        config = ConfigMap(metadata=meta_for(greeting), data={"text": greeting.spec.text})
        try:
            self.client.apply(config, owner=greeting)
        except ApiError:
            return Result(requeue_after=4.0)
        return Result()


class EndsOnError(Correct, name="ends-on-error"):
    """Ends its process at an error, as programs do that leave the next attempt to their kubelet."""

    def reconcile(self, greeting: Greeting) -> None:
        try:
            super().reconcile(greeting)
        except ApiError:
            os._exit(1)


class GeneratesNames(Correct, name="generates-names"):
    """Creates a ConfigMap with a generated name, and records afterwards that it has."""

    def reconcile(self, greeting: Greeting) -> None:
        if not greeting.status.text:
            meta = changed(meta_for(greeting), name="", generate_name=f"{greeting.metadata.name}-")
            self.client.create(ConfigMap(metadata=meta, data={"text": greeting.spec.text}), owner=greeting)
            self.report(greeting)


class Restless(Correct, name="restless"):
    """Writes whenever it is called."""

    def reconcile(self, greeting: Greeting) -> None:
        config = ConfigMap(metadata=meta_for(greeting), data={"text": str(self.counted())})
        self.client.apply(config, owner=greeting)

    count = 0

    def counted(self) -> int:
        Restless.count += 1
        return Restless.count


class MissesDeletions(Reconciler[Greeting], name="misses-deletions"):
    """Deletes what it owns when it sees a deletion, and has neither finalizer nor owner reference."""

    seen: set[str] = set()

    def reconcile(self, greeting: Greeting) -> None:
        config = ConfigMap(metadata=ObjectMeta(name=greeting.metadata.name, namespace="default"))
        self.client.apply(config)


class Evicts(Reconciler[Greeting], name="evicts"):
    """Deletes the user's ConfigMap that a greeting names, as an eviction does: nothing brings it back."""

    def reconcile(self, greeting: Greeting) -> None:
        named = ConfigMap(metadata=ObjectMeta(name=greeting.spec.text, namespace=greeting.metadata.namespace))
        self.client.delete(named, missing_ok=True)
