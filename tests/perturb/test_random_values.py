"""Random values that an operator chooses once, in an object or as the key of a record outside, are no findings."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from clientgo.manager import Reconciler
from clientgo.meta import ObjectMeta, api_type, meta_for, object_name, replace
from clientgo.perturb import ClusterState, change, create, delete, perturb


@dataclass(frozen=True)
class DiskSpec:
    name: str = ""
    size: int = 1


@api_type(group="disks.example.com", version="v1", status=False)
@dataclass(frozen=True)
class Disk:
    metadata: ObjectMeta = ObjectMeta()
    spec: DiskSpec = DiskSpec()


@api_type(group="disks.example.com", version="v1", status=False)
@dataclass(frozen=True)
class Part:
    metadata: ObjectMeta = ObjectMeta()
    spec: DiskSpec = DiskSpec()


class Store:
    """Sizes of disks by their names; `record` makes the record of a disk."""

    def __init__(self, record: Callable[[str, int], Any]) -> None:
        self.sizes: dict[str, int] = {}
        self._record = record

    def reset(self) -> None:
        self.sizes.clear()

    def state(self) -> dict[str, Any]:
        return {name: self._record(name, size) for name, size in self.sizes.items()}


PLAIN, NAMED = Store(lambda _, size: size), Store(lambda name, size: {"name": name, "size": size})


class Names(Reconciler[Disk], finalizer="disks.example.com/disk"):
    """Names a disk once, by its own name and a random part, and stores it under that name."""

    store = PLAIN

    def reconcile(self, disk: Disk) -> None:
        if not disk.spec.name:
            name = f"{disk.metadata.name}-{secrets.token_hex(4)}"
            self.client.patch_to(disk, replace(disk, spec=replace(disk.spec, name=name)), optimistic_lock=True)
        elif self.client.is_current(disk):
            self.store.sizes[disk.spec.name] = disk.spec.size

    def finalize(self, disk: Disk) -> None:
        self.store.sizes.pop(disk.spec.name, None)


class NamesWithName(Names, name="names-with-name"):
    store = NAMED


DISK = Disk(metadata=ObjectMeta(name="data", namespace="default"))
STEPS = [create(DISK), change(DISK, {"spec": {"size": 2}}), delete(DISK)]


@pytest.mark.parametrize("operator", [Names, NamesWithName], ids=["key", "key in its record"])
def test_random_key_of_an_object_is_another_one_in_each_run(operator: type[Names]) -> None:
    only = ["crash-before", "crash-stored", "down", "unobserved", "late", "error-500", "delete-all"]
    perturb(operator, STEPS, only=only, outside=operator.store).check()


class StoresFirst(Names, name="stores-first"):
    """Stores a disk under its name before the disk has it."""

    def reconcile(self, disk: Disk) -> None:
        name = disk.spec.name or f"{disk.metadata.name}-{secrets.token_hex(4)}"
        self.store.sizes[name] = disk.spec.size
        if not disk.spec.name:
            self.client.patch_to(disk, replace(disk, spec=replace(disk.spec, name=name)), optimistic_lock=True)


def test_record_under_a_key_that_no_object_has_is_a_difference() -> None:
    [finding] = perturb(StoresFirst, STEPS, plans=["crash-before:2"], outside=PLAIN).failed
    assert finding.findings[0].oracle == "outside"


class Hosted(Store):
    """Ends what it has with the last disk, without the operator."""

    def observe(self, state: ClusterState) -> None:
        if not any(ref.resource.startswith("disks.") for ref in state):
            self.sizes.clear()


class Leaves(Names, name="leaves"):
    """Leaves its records to the system that has them."""

    store = Hosted(lambda _, size: size)

    def finalize(self, disk: Disk) -> None: ...


def test_what_a_system_outside_has_can_end_with_an_object() -> None:
    [result] = perturb(Leaves, STEPS, plans=["reference"], outside=Leaves.store)
    assert [len(state) for state in result.run.outside] == [1, 1, 0]


class Optional(Reconciler[Disk], owns=[Part], name="optional"):
    """Gives the part the name of the disk, or a random one once."""

    def reconcile(self, disk: Disk) -> None:
        part = self.client.find(Part, object_name(disk))
        former = part.spec.name if part is not None and part.spec.name.startswith("random-") else ""
        spec = DiskSpec(disk.spec.name or former or f"random-{secrets.token_hex(4)}", disk.spec.size)
        if part is None:
            self.client.create(Part(meta_for(disk), spec), owner=disk)
        elif part.spec != spec:
            self.client.patch_to(part, replace(part, spec=spec), optimistic_lock=True)


def test_random_value_that_only_another_spec_leads_to_is_no_difference() -> None:
    disk = replace(DISK, spec=DiskSpec("fixed"))
    steps = [create(disk), change(disk, {"spec": {"size": 2}}), delete(disk)]
    perturb(Optional, steps, only=["transition", "crossed"]).check()
