"""What the workshop's generated clients and listers inherit."""

from clientgo.cache.lister import Lister
from clientgo.typed.client import TypedClient
from tests.codegen.kinds.workshop import Hall, Machine


class MachineExpansion(TypedClient[Machine]):
    """More for the client of machines."""

    def fast(self) -> list[Machine]:
        """Those that are faster than one."""
        return [machine for machine in self.list().items if machine.spec.speed > 1]


class MachineListerExpansion(Lister[Machine]):
    """More for the lister of machines."""

    def speeds(self) -> dict[str, int]:
        """How fast each is, by namespace and name."""
        return {f"{m.metadata.namespace}/{m.metadata.name}": m.spec.speed for m in self.list()}


class MachineNamespaceListerExpansion(Lister[Machine]):
    """More for the lister of one namespace's machines."""

    def fastest(self) -> Machine:
        """The fastest there."""
        return max(self.list(), key=lambda machine: machine.spec.speed)


class HallListerExpansion(Lister[Hall]):
    """More for the lister of halls."""

    def names(self) -> list[str]:
        """What they are called."""
        return [hall.metadata.name for hall in self.list()]
