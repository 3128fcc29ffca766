"""Effects of the order in which objects are served, and of what an operator leaves on purpose, are no findings."""

from dataclasses import dataclass

from clientgo.kubernetes.types.core_v1 import ConfigMap, Namespace
from clientgo.manager import ControllerBuilder, Reconciler
from clientgo.meta import ObjectMeta, api_type, object_name, replace
from clientgo.perturb import change, create, delete, perturb
from tests.perturb.greetings import Greeting, greeting


@dataclass(frozen=True)
class Holding:
    holds: tuple[str, ...] = ()


@api_type(group="locks.example.com", version="v1")
@dataclass(frozen=True)
class Claim:
    metadata: ObjectMeta = ObjectMeta()
    status: Holding = Holding()


class Claims(Reconciler[Claim], finalizer="example.com/claim"):
    """Takes each ConfigMap that is free for the claim that is served first, which keeps it."""

    def setup(self, builder: ControllerBuilder) -> None:
        builder.watches(ConfigMap, lambda lock: [object_name(claim) for claim in self.client.list(Claim)])

    def reconcile(self, claim: Claim) -> None:
        for lock in self.locks():
            if not lock.data.get("holder") and self.client.still_exists(claim):
                self.client.update(replace(lock, data={"holder": claim.metadata.name}))
        name = claim.metadata.name
        status = Holding(tuple(lock.metadata.name for lock in self.locks() if lock.data.get("holder") == name))
        if status != claim.status:
            self.client.update_status(replace(claim, status=status))

    def finalize(self, claim: Claim) -> None:
        for lock in self.locks():
            if lock.data.get("holder") == claim.metadata.name:
                self.client.update(replace(lock, data={}))

    def locks(self) -> list[ConfigMap]:
        return sorted(self.client.api_reader.list(ConfigMap, label_selector="lock"), key=object_name)


class Moving(Claims, name="moving"):
    """Gives a lock to the claim that is served last."""

    def reconcile(self, claim: Claim) -> None:
        for lock in self.locks():
            if lock.data.get("holder") != claim.metadata.name and not claim.status.holds:
                self.client.update(replace(lock, data={"holder": claim.metadata.name}))
        super().reconcile(claim)


def lock(name: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace="default", labels={"lock": "yes"}))


A, B = (Claim(metadata=ObjectMeta(name=name, namespace="default")) for name in "ab")
CLAIMED = [create(lock("one")), create(A), create(B), create(lock("two")), delete(A), delete(B)]
KINDS = ["unobserved", "each-409", "error-500", "timeout-before", "crash-before"]


def test_objects_may_get_each_others_lists_and_items_of_them() -> None:
    perturb(Claims, CLAIMED, only=KINDS).check()


def test_value_that_is_taken_back_is_a_difference() -> None:
    assert perturb(Moving, CLAIMED, only=KINDS).failed


class Leaves(Reconciler[Greeting], name="leaves"):
    """Keeps a ConfigMap in each namespace with the label, and leaves it when the label is gone."""

    def setup(self, builder: ControllerBuilder) -> None:
        builder.watches(Namespace, lambda namespace: [object_name(each) for each in self.client.list(Greeting)])

    def reconcile(self, greeting: Greeting) -> None:
        for namespace in self.client.list(Namespace, label_selector={"team": "red"}):
            metadata = ObjectMeta(name="team", namespace=namespace.metadata.name)
            if self.client.still_exists(greeting):
                self.client.apply(ConfigMap(metadata=metadata, data={"text": greeting.spec.text}))


def test_object_that_is_left_on_purpose_may_be_as_a_blind_operator_left_it() -> None:
    namespace = Namespace(metadata=ObjectMeta(name="n", labels={"team": "red"}))
    red = greeting()
    leave = change(namespace, {"metadata": {"labels": {"team": None}}})
    steps = [create(namespace), create(red), change(red, {"spec": {"text": "two"}}), leave, delete(red)]
    perturb(Leaves, steps, only=["late", "unobserved"], lasting=["configmaps"]).check()
    assert perturb(Leaves, steps, only=["late"]).failed
