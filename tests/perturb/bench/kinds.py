"""Kinds of the bench's controllers, the system outside of the cluster that some of them control, and shared steps."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, TypeVar

from clientgo.clock import Clock
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.manager import Client, Condition, Reconciler
from clientgo.meta import (
    DNS_LABEL,
    EMPTY_MAP,
    ApiObject,
    Int32,
    Meta,
    ObjectMeta,
    api_type,
    meta_for,
    object_name,
    to_dict,
)
from clientgo.record import EventRecorder

GROUP = "bench.example.com"

T = TypeVar("T", bound=ApiObject)


@dataclass(frozen=True, slots=True)
class Entry:
    """Entry of a history."""

    value: str
    time: datetime


@dataclass(frozen=True, slots=True)
class Status:
    """Observed state, shared by all kinds."""

    phase: str | None = None
    name: str | None = None
    done: Int32 | None = None
    observed_generation: int | None = None
    conditions: tuple[Condition, ...] = ()
    history: tuple[Entry, ...] = ()
    attempts: Int32 | None = None


@dataclass(frozen=True, slots=True)
class SiteSpec:
    """Web site: an image with texts, served under hosts."""

    image: str
    replicas: Annotated[Int32 | None, Meta(ge=0, le=5)] = None
    content: Mapping[str, str] = EMPTY_MAP
    hosts: tuple[str, ...] = ()
    settings: str | None = None


@api_type(group=GROUP, version="v1")
@dataclass(frozen=True, slots=True)
class Site:
    """Web site, kept as ConfigMaps."""

    metadata: ObjectMeta
    spec: SiteSpec
    status: Status = Status()


@dataclass(frozen=True, slots=True)
class BucketSpec:
    """Storage of a provider outside of the cluster; its password is in a Secret."""

    plan: str = "basic"
    size: Annotated[Int32, Meta(ge=0, le=9)] = 1
    secret_name: Annotated[str, DNS_LABEL] = "access"


@api_type(group=GROUP, version="v1")
@dataclass(frozen=True, slots=True)
class Bucket:
    """Bucket of the provider."""

    metadata: ObjectMeta
    spec: BucketSpec = BucketSpec()
    status: Status = Status()


@dataclass(frozen=True, slots=True)
class PoolSpec:
    """Members by number or by name."""

    replicas: Annotated[Int32, Meta(ge=0, le=4)] = 1
    members: tuple[str, ...] = ()
    tier: Annotated[str, DNS_LABEL] = "web"
    session: str = "first"


@api_type(group=GROUP, version="v1")
@dataclass(frozen=True, slots=True)
class Pool:
    """Pool of members, each a ConfigMap."""

    metadata: ObjectMeta
    spec: PoolSpec = PoolSpec()
    status: Status = Status()


@dataclass(frozen=True, slots=True)
class TaskSpec:
    """Work in steps."""

    steps: Annotated[Int32, Meta(ge=1, le=4, immutable=True)] = 2
    size: Annotated[Int32, Meta(ge=0, le=9)] = 1
    seconds: Annotated[Int32, Meta(ge=1, le=3600, immutable=True)] = 60
    note: str = ""


@api_type(group=GROUP, version="v1")
@dataclass(frozen=True, slots=True)
class Task:
    """Task that runs once."""

    metadata: ObjectMeta
    spec: TaskSpec = TaskSpec()
    status: Status = Status()


@dataclass(frozen=True, slots=True)
class GrantSpec:
    """Right of a user."""

    user: str = "ann"


@api_type(group=GROUP, version="v1")
@dataclass(frozen=True, slots=True)
class Grant:
    """Grant, kept as a ConfigMap."""

    metadata: ObjectMeta
    spec: GrantSpec = GrantSpec()
    status: Status = Status()


KINDS = (Site, Bucket, Pool, Task, Grant)


class Cloud:
    """Provider outside of the cluster: records by name, and how often something was charged or run."""

    def __init__(self) -> None:
        self.records: dict[str, str] = {}
        self.runs: dict[str, int] = {}
        self._keys: set[str] = set()

    def reset(self) -> None:
        """Forget everything."""
        self.records, self.runs, self._keys = {}, {}, set()

    def state(self) -> dict[str, object]:
        """Return what a bill would show."""
        return {"records": dict(sorted(self.records.items())), "runs": dict(sorted(self.runs.items()))}

    def run(self, name: str, key: str = "") -> None:
        """Count one run; a second one with the same key counts nothing."""
        if key not in self._keys:
            self.runs[name] = self.runs.get(name, 0) + 1
        if key:
            self._keys.add(key)


class BenchReconciler(Reconciler[T]):
    """Reconciler that may use the provider."""

    def __init__(self, client: Client, recorder: EventRecorder, cloud: Cloud, clock: Clock) -> None:
        super().__init__(client, recorder)
        self.cloud, self.clock = cloud, clock

    def is_current(self, obj: ApiObject) -> bool:
        """Return whether the server has this very object, in this generation, and it is not being deleted."""
        live = self.client.api_reader.find(type(obj), object_name(obj))
        return (
            live is not None
            and live.metadata.uid == obj.metadata.uid
            and live.metadata.generation == obj.metadata.generation
            and live.metadata.deletion_timestamp is None
        )

    def observed(self, obj: T, **fields: object) -> None:
        """Write the observed generation and `fields` to the status, unless they are there."""
        status = {"observedGeneration": obj.metadata.generation, **fields}
        existing = to_dict(obj).get("status") or {}
        if any(existing.get(name) != value for name, value in status.items()):
            version = {"resourceVersion": obj.metadata.resource_version}
            self.client.patch_status(obj, {"metadata": version, "status": status})


def config(owner: ApiObject, name: str, data: Mapping[str, str], labels: Mapping[str, str] = EMPTY_MAP) -> ConfigMap:
    """Return a ConfigMap beside `owner`."""
    return ConfigMap(metadata=meta_for(owner, name, labels=labels), data=data)
