"""Kind with additional client methods."""

from dataclasses import dataclass

from clientgo.meta import Int32, ObjectMeta, api_type
from clientgo.meta.declarations import client_method
from clientgo.typed.scale import Scale


@api_type(group="workshop.example.com", version="v1", status=False, crd=False, verbs=())
@dataclass(frozen=True, slots=True)
class Repair:
    """Request for a repair of a Machine."""

    metadata: ObjectMeta
    part: str = ""
    done: bool = False


@dataclass(frozen=True, slots=True)
class MachineSpec:
    """Desired state of a Machine."""

    speed: Int32 = 1


@client_method("repair", verb="create", subresource="repair", input=Repair)
@client_method("get_speed", verb="get", subresource="speed", result=Scale)
@client_method("update_speed", verb="update", subresource="speed", input=Scale)
@client_method("patch_speed", verb="patch", subresource="speed", result=Scale)
@client_method("apply_speed", verb="apply", subresource="speed", input=Scale)
@client_method("calm", verb="delete", subresource="speed")
@client_method("list_repairs", verb="list", subresource="repairs", result=Repair)
@client_method("watch_repairs", verb="watch", subresource="repairs", result=Repair)
@client_method("tune", verb="update", subresource="tuning")
@api_type(group="workshop.example.com", version="v1", status=False)
@dataclass(frozen=True, slots=True)
class Machine:
    """Machine with a speed."""

    metadata: ObjectMeta
    spec: MachineSpec = MachineSpec()


@api_type(group="workshop.example.com", version="v1", status=False, scope="Cluster")
@dataclass(frozen=True, slots=True)
class Hall:
    """Building for machines."""

    metadata: ObjectMeta
