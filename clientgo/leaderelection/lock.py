"""Locks for leader election: a Lease object in client-go's format, so that both can compete for one lease.

Of client-go's lock types only leases remain; programs that still lock on Endpoints or ConfigMaps must migrate first. If
two candidates write at once, only the object's resourceVersion decides.
"""

import socket
import uuid
from collections.abc import Mapping
from copy import copy
from dataclasses import replace as replace_config
from typing import Protocol

from clientgo.errors import ClientGoError, InvalidResponse
from clientgo.kubernetes.clients.coordination_v1 import CoordinationV1
from clientgo.kubernetes.types.coordination_v1 import Lease
from clientgo.leaderelection.record import LeaderElectionRecord
from clientgo.meta.codec import replace
from clientgo.meta.names import ObjectName
from clientgo.meta.objects import EMPTY_MAP, ObjectMeta
from clientgo.rest.config import Config
from clientgo.rest.headers import default_user_agent
from clientgo.rest.request import Requester
from clientgo.typed.clientset import BaseClientset


class LeaseNotRead(ClientGoError):
    """The lease must be read or created before it can be updated, so that the replaced record is known."""


class Lock(Protocol):
    """Store of one record for all candidates. `get`, `create` and `update` raise `ApiError` and `ConnectionFailed`."""

    @property
    def identity(self) -> str:
        """Unique identity of this candidate."""

    def get(self) -> LeaderElectionRecord:
        """Return the current record; `NotFound` if there is none."""

    def create(self, record: LeaderElectionRecord) -> None:
        """Create the record; `AlreadyExists` if there is one."""

    def update(self, record: LeaderElectionRecord) -> None:
        """Replace the record that was last read or written; `Conflict` if it has changed since."""

    def record_event(self, message: str) -> None:
        """Record an event about this candidate; never blocks."""

    def describe(self) -> str:
        """Return the lock's name for logs."""

    def fork(self) -> "Lock":
        """Return an independent copy for the same candidate and lease, which has read the same record.

        Calls that may be abandoned use a copy, so that their late results are ignored.
        """


class LeaseEventRecorder(Protocol):
    """Event recorder, as far as a lock needs it; `clientgo.record.EventRecorder` has this method."""

    def event(self, obj: object, event_type: str, reason: str, message: str) -> None:
        """Record that `reason` happened to `obj`."""


class LeaseLock:
    """Lock stored in the Lease `namespace/name`. Implements `Lock`.

    Each write sets `labels` on the lease and keeps its other labels. Without a `recorder` there are no events.
    """

    def __init__(
        self,
        target: BaseClientset | Requester,
        namespace: str,
        name: str,
        identity: str,
        *,
        labels: Mapping[str, str] = EMPTY_MAP,
        recorder: LeaseEventRecorder | None = None,
    ) -> None:
        requester = target.requester if isinstance(target, BaseClientset) else target
        self._leases = CoordinationV1(requester).leases(namespace)
        self._name = ObjectName(namespace, name)
        self._identity = identity
        self._labels = labels
        self._recorder = recorder
        # The lease as last read or written. Decisions rely on it, so nothing else may set it: if it were newer than the
        # record that was decided upon, the next update would replace another's record instead of being a Conflict.
        self._lease: Lease | None = None

    def __repr__(self) -> str:
        return f"<LeaseLock {self.describe()} for {self._identity}>"

    @property
    def identity(self) -> str:
        """Identity of this candidate."""
        return self._identity

    def get(self) -> LeaderElectionRecord:
        """Return the lease's current record; raises `NotFound`, other `ApiError`s and `ConnectionFailed`."""
        lease = self._leases.get(self._name.name)
        self._lease = lease
        return LeaderElectionRecord.from_spec(lease.spec)

    def create(self, record: LeaderElectionRecord) -> None:
        """Create the lease; raises `AlreadyExists`, other `ApiError`s and `ConnectionFailed`."""
        meta = ObjectMeta(name=self._name.name, namespace=self._name.namespace, labels=self._labels)
        self._lease = confirmed(self._leases.create(Lease(metadata=meta, spec=record.to_spec())), record)

    def update(self, record: LeaderElectionRecord) -> None:
        """Replace the record in the lease that was last read or written.

        Raises:
            LeaseNotRead: the lease has been neither read nor created.
            Conflict: the lease has changed since.
            ApiError, ConnectionFailed: the request failed.
        """
        lease = self._lease
        if lease is None:
            raise LeaseNotRead(f"cannot update lease {self.describe()}: get or create it first")
        meta = lease.metadata
        if self._labels:
            meta = replace(meta, labels={**meta.labels, **self._labels})
        self._lease = confirmed(self._leases.update(replace(lease, metadata=meta, spec=record.to_spec())), record)

    def record_event(self, message: str) -> None:
        """Record `<identity> <message>` on the lease, if there is a recorder."""
        if self._recorder is None:
            return
        meta = ObjectMeta(name=self._name.name, namespace=self._name.namespace)
        lease = self._lease if self._lease is not None else Lease(metadata=meta)
        self._recorder.event(lease, "Normal", "LeaderElection", f"{self._identity} {message}")

    def describe(self) -> str:
        """Return `namespace/name`."""
        return str(self._name)

    def fork(self) -> "LeaseLock":
        """Return a copy that has read the same lease."""
        return copy(self)


def confirmed(stored: Lease, written: LeaderElectionRecord) -> Lease:
    """Return the lease in the response to a write, which must have the holder and the time that were written.

    An older state of the lease, from a cache on the way, does not show that other candidates see the write.

    Raises:
        InvalidResponse: it has others.
    """
    record = LeaderElectionRecord.from_spec(stored.spec)
    if (record.holder_identity, record.renew_time) == (written.holder_identity, written.renew_time):
        return stored
    name = ObjectName(stored.metadata.namespace, stored.metadata.name)
    raise InvalidResponse(
        f"invalid response to the write of lease {name}: expected holder {written.holder_identity!r} at "
        f"{written.renew_time}, got {record.holder_identity!r} at {record.renew_time}"
    )


def new_identity() -> str:
    """Return a unique identity: the host name, for people, and a random part, because a host may run several."""
    return f"{socket.gethostname()}_{uuid.uuid4()}"


def request_timeout(renew_deadline: float) -> float:
    """Return the timeout of one request: half the deadline, at least 1 s, so that a second try is possible."""
    return max(1.0, renew_deadline / 2)


def config_for_lock(config: Config, *, renew_deadline: float = 10.0) -> Config:
    """Return `config` for the lock's own connections, which other requests of the program cannot delay.

    Requests end within `request_timeout(renew_deadline)` seconds and have their own user agent.
    """
    return replace_config(
        config,
        timeout=request_timeout(renew_deadline),
        user_agent=f"{config.user_agent or default_user_agent()}/leader-election",
    )
