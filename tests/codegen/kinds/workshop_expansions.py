"""Expansion classes of the workshop's generated clients and listers."""

from clientgo.cache.lister import Lister
from clientgo.typed.client import TypedClient
from tests.codegen.kinds.workshop import Hall, Machine


class MachineExpansion(TypedClient[Machine]):
    """Additional methods of the client of machines."""

    def fast(self) -> list[Machine]:
        """Return the machines with a speed above 1."""
        return [machine for machine in self.list().items if machine.spec.speed > 1]


class MachineListerExpansion(Lister[Machine]):
    """Additional methods of the lister of machines."""

    def speeds(self) -> dict[str, int]:
        """Return the speed of each machine, by namespace and name."""
        return {f"{m.metadata.namespace}/{m.metadata.name}": m.spec.speed for m in self.list()}


class MachineNamespaceListerExpansion(Lister[Machine]):
    """Additional methods of the lister of machines in one namespace."""

    def fastest(self) -> Machine:
        """Return the fastest machine."""
        return max(self.list(), key=lambda machine: machine.spec.speed)


class HallListerExpansion(Lister[Hall]):
    """Additional methods of the lister of halls."""

    def names(self) -> list[str]:
        """Return the names of all halls."""
        return [hall.metadata.name for hall in self.list()]
