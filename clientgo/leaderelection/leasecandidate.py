"""Coordinated leader election: candidacy for a lease whose holder the API server chooses.

    candidacy = LeaseCandidacy(clientset, "kube-system", new_identity(), lease_name="foos", binary_version="1.30.0")
    group.start(candidacy.run, stop, name="lease-candidate")
    lock = LeaseLock(clientset, "kube-system", "foos", candidacy.name)
    LeaderElector(lock, on_started_leading=work, on_stopped_leading=stopped, coordinated=True).run(stop)

Each replica keeps a LeaseCandidate object with its version. The server pings candidates by setting `pingTime`, assigns
the lease by its strategy (the oldest version, so that no newer one leads during an upgrade), and sets `preferredHolder`
in the lease once another candidate is better. `LeaseCandidate` is coordination.k8s.io/v1beta1, which Kubernetes 1.33
and later serve if enabled.
"""

import threading

import msgspec

from clientgo.cache.informer import SharedInformer
from clientgo.clock import SYSTEM_CLOCK, Clock, utc
from clientgo.errors import ClientGoError, NotFound
from clientgo.log import get_logger
from clientgo.meta.codec import Undecodable, replace
from clientgo.meta.listwatch import ListOptions
from clientgo.meta.objects import MicroTime, ObjectMeta
from clientgo.meta.scheme import api_type
from clientgo.meta.selectors import field_selector_for
from clientgo.rest.request import Requester
from clientgo.stop.lifecycle import Group
from clientgo.typed.client import TypedClient
from clientgo.typed.clientset import BaseClientset
from clientgo.workqueue import RateLimitingQueue, ShutDown

log = get_logger(__name__)

OLDEST_EMULATION_VERSION = "OldestEmulationVersion"
"""Strategy: oldest emulation version first, then oldest binary version, then oldest candidate."""

REQUEUE_SECONDS = 300.0
"""Seconds between checks of a candidate without events (client-go's five minutes)."""


class LeaseCandidateSpec(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, gc=False):
    """Lease and versions of a candidate."""

    lease_name: str = ""
    strategy: str = ""
    binary_version: str = ""
    """Semantic version, without a leading v."""
    emulation_version: str = ""
    """Version whose behaviour is emulated; not newer than the binary."""
    ping_time: MicroTime | None = None
    """Time of the server's last ping."""
    renew_time: MicroTime | None = None
    """Time of the candidate's last answer."""


@api_type(group="coordination.k8s.io", version="v1beta1", status=False)
class LeaseCandidate(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, gc=False):
    """Candidate for a lease."""

    metadata: ObjectMeta = ObjectMeta()
    spec: LeaseCandidateSpec = LeaseCandidateSpec()


class LeaseCandidateClient(TypedClient[LeaseCandidate]):
    """Client of LeaseCandidate objects."""

    kind = LeaseCandidate


class LeaseCandidacy:
    """Keeps the LeaseCandidate `namespace/name` up to date, and answers the server's pings, while `run` runs."""

    def __init__(
        self,
        target: BaseClientset | Requester,
        namespace: str,
        name: str,
        *,
        lease_name: str,
        binary_version: str,
        emulation_version: str = "",
        strategy: str = OLDEST_EMULATION_VERSION,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        """`emulation_version` defaults to the binary's; the lease is in the same namespace."""
        requester = target.requester if isinstance(target, BaseClientset) else target
        self.name = name
        self._namespace = namespace
        self._client = LeaseCandidateClient(requester, namespace)
        self._spec = LeaseCandidateSpec(
            lease_name=lease_name,
            strategy=strategy,
            binary_version=binary_version,
            emulation_version=emulation_version or binary_version,
        )
        self._clock = clock

    def __repr__(self) -> str:
        return f"<LeaseCandidacy {self._namespace}/{self.name} for {self._spec.lease_name}>"

    def run(self, stop: threading.Event) -> None:
        """Keep the candidate until `stop` is set; failed requests are logged and retried."""
        queue: RateLimitingQueue[str] = RateLimitingQueue(clock=self._clock)
        informer = SharedInformer(self._client, tweak=self._only_own, clock=self._clock)
        informer.add_event_handler(
            on_add=lambda _: queue.add(self.name),
            on_update=lambda _, __: queue.add(self.name),
            on_delete=lambda _: queue.add(self.name),
        )
        group = Group(stop=stop, clock=self._clock)
        queue.add(self.name)
        try:
            informer.start(group)
            group.start(self._run_worker, queue, name=f"lease-candidate-{self.name}")
            stop.wait()
        finally:
            queue.shut_down()
            group.join()

    def ensure(self) -> None:
        """Create the candidate, or update it if its versions differ or a ping is unanswered.

        Raises:
            ApiError, ConnectionFailed: a request failed.
        """
        renewed = replace(self._spec, renew_time=MicroTime.of(utc(self._clock)))
        try:
            existing = self._client.get(self.name)
        except NotFound:
            meta = ObjectMeta(name=self.name, namespace=self._namespace)
            self._client.create(LeaseCandidate(metadata=meta, spec=renewed))
            log.info("lease candidate created", extra={"candidate": self.name, "lease": self._spec.lease_name})
            return
        if self._is_current(existing.spec):
            return
        self._client.update(replace(existing, spec=replace(renewed, ping_time=existing.spec.ping_time)))

    def _is_current(self, spec: LeaseCandidateSpec) -> bool:
        pinged = spec.ping_time is not None and (spec.renew_time is None or spec.renew_time < spec.ping_time)
        return not pinged and replace(spec, ping_time=None, renew_time=None) == self._spec

    def _only_own(self, options: ListOptions) -> ListOptions:
        return replace(options, field_selector=field_selector_for({"metadata.name": self.name}))

    def _run_worker(self, queue: RateLimitingQueue[str]) -> None:
        try:
            while True:
                with queue.processing() as key:
                    self._try(queue, key)
        except ShutDown:
            return

    def _try(self, queue: RateLimitingQueue[str], key: str) -> None:
        try:
            self.ensure()
        except (ClientGoError, Undecodable) as error:
            log.warning("cannot update lease candidate", extra={"candidate": key, "err": error})
            queue.add_rate_limited(key)
        else:
            queue.forget(key)
            queue.add_after(key, REQUEUE_SECONDS)
