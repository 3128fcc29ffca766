"""The cases: a bug in a sentence, the controllers with it, their correct twins, and the scenario for both."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from clientgo.kubernetes.types.core_v1 import (
    ConfigMap,
    Container,
    Namespace,
    Node,
    NodeSpec,
    Pod,
    PodSpec,
    Secret,
    Service,
    ServiceAccount,
    ServicePort,
    ServiceSpec,
    Taint,
)
from clientgo.manager import Manager
from clientgo.meta import ObjectMeta, replace
from clientgo.perturb import ClusterState, Scenario, ScenarioStep, advance, change, create, delete
from tests.perturb.bench import (
    buckets,
    dependents,
    everyday,
    grants,
    inputs,
    lifecycles,
    marked,
    pools,
    records,
    references,
    settled,
    sites,
    tasks,
    turns,
    workloads,
)
from tests.perturb.bench.kinds import (
    Bucket,
    BucketSpec,
    Cloud,
    Grant,
    GrantSpec,
    Pool,
    PoolSpec,
    Site,
    SiteSpec,
    Task,
    TaskSpec,
)

Reconcilers = tuple[type[Any], ...]


@dataclass(frozen=True)
class Case:
    """Controller with a bug, and its twin without, in one scenario."""

    name: str
    broken: type[Any]
    correct: type[Any]
    steps: Sequence[ScenarioStep]
    beside: Reconcilers = ()
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def bug(self) -> str:
        """The bug in a sentence."""
        return str(self.broken.__doc__).removeprefix("Bug: ")

    def scenario(self, reconciler: type[Any]) -> Scenario:
        """Return the scenario of one of the two."""
        cloud = Cloud()
        setup, kind = _setup((reconciler, *self.beside), cloud), reconciler.declaration.kind
        return Scenario(setup, self.steps, name=self.name, crds=[kind], outside=cloud, **self.options)


def _setup(reconcilers: Reconcilers, cloud: Cloud) -> Callable[[Manager], None]:
    def setup(manager: Manager) -> None:
        for reconciler in reconcilers:
            manager.add_reconciler(reconciler(manager.client, manager.recorder, cloud, manager.clock))

    return setup


def meta(name: str = "a") -> ObjectMeta:
    """Return metadata in the namespace `default`."""
    return ObjectMeta(name=name, namespace="default")


def config_map(name: str, data: dict[str, str], **labels: str) -> ConfigMap:
    """Return a ConfigMap of the user."""
    return ConfigMap(metadata=ObjectMeta(name=name, namespace="default", labels=labels), data=data)


def spec(**fields: Any) -> dict[str, Any]:
    """Return a merge patch of the spec."""
    return {"spec": fields}


def paused(value: str | None) -> dict[str, Any]:
    """Return a merge patch of the annotation that pauses a grant."""
    return {"metadata": {"annotations": {lifecycles.PAUSED: value}}}


SITE = Site(meta(), SiteSpec("v1", replicas=2, content={"title": "A"}))
HOSTS = Site(meta(), SiteSpec("v1", hosts=("a.example", "b.example")))
WITH_SETTINGS = Site(meta(), SiteSpec("v1", settings="settings"))
BUCKET = Bucket(meta(), BucketSpec())
POOL = Pool(meta(), PoolSpec(replicas=1))
LISTED = Pool(meta(), PoolSpec(members=("ann", "bob")))
TASK = Task(meta(), TaskSpec(steps=3))
GRANT = Grant(meta(), GrantSpec())
OTHER_GRANT = Grant(meta("b"), GrantSpec())
SETTINGS = config_map("settings", {"colour": "red"})
FOREIGN = config_map("a", {"owner": "another user"})
LABELLED = config_map("labelled", {}, grant="a")
TEAM_GRANT = Grant(ObjectMeta(name="a", namespace="default", labels={inputs.TEAM: "red"}), GrantSpec())
SECRET = Secret(metadata=meta("access"), data={"password": b"secret"})
WEB = Service(
    metadata=ObjectMeta(name="web", namespace="default", annotations={marked.HOST: "web.example"}),
    spec=ServiceSpec(ports=(ServicePort(port=80),)),
)
BLUE = Namespace(metadata=ObjectMeta(name="blue", labels={marked.TEAM: "ann", marked.TIER: "small"}))
POD = Pod(metadata=meta("pod"), spec=PodSpec(containers=(Container(name="app", image="app"),), node_name="basic"))
NODE = Node(metadata=ObjectMeta(name="basic"))
TAINTED = Node(metadata=ObjectMeta(name="basic"), spec=NodeSpec(taints=(Taint(key="own", effect="NoSchedule"),)))
EXPIRING = [
    ConfigMap(metadata=ObjectMeta(name=name, namespace="default", annotations={settled.TTL: seconds}))
    for name, seconds in (("a", "40"), ("b", "100"))
]
APP = replace(workloads.deployment(Site(meta("app"), SiteSpec("v1")), 2), metadata=meta("app"))
TEAM = Namespace(metadata=ObjectMeta(name="team"))
USERS = [Namespace(metadata=ObjectMeta(name=name)) for name in ("ann", "bob")]
PODS = [Pod(metadata=meta(name), spec=replace(POD.spec, node_name=None)) for name in ("one", "two")]
ACCOUNT = ServiceAccount(metadata=meta("builder"))
OTHER_BUCKET = Bucket(meta("b"), BucketSpec())
SCALER = Pool(meta(), PoolSpec(replicas=3, tier="app"))
PART = ConfigMap(metadata=ObjectMeta(name="part", namespace="default", labels={turns.PART: "web"}))


def each_grant_has_its_config_map(state: ClusterState) -> bool:
    """A grant that exists has a ConfigMap in `kube-public`."""
    grants_left = state.all("grants.bench.example.com")
    return not grants_left or state.find("configmaps", "grant-a", "kube-public") is not None


def foreign_data_stays(state: ClusterState) -> bool:
    """The ConfigMap of another user is not changed."""
    foreign = state.find("configmaps", "a", "default")
    return foreign is None or foreign.get("data") == {"owner": "another user"}


CASES = (
    Case("status-first", sites.StatusFirst, sites.OwningSite, [create(SITE)]),
    Case("on-creation-only", sites.OnCreationOnly, sites.OwningSite, [create(SITE)]),
    Case("key-stays", sites.KeyStays, sites.OwningSite, [create(SITE)]),
    Case("conflict-swallowed", sites.ConflictSwallowed, sites.PutSite, [create(SITE), change(SITE, spec(image="v2"))]),
    Case("error-swallowed", sites.ErrorSwallowed, sites.OwningSite, [create(SITE)]),
    Case("absent-replicas", sites.AbsentReplicas, sites.ScaledSite, [create(SITE)]),
    Case("claims-too-much", sites.ClaimsTooMuch, sites.TruthfulSite, [create(SITE), change(SITE, spec(image="v2"))]),
    Case(
        "settings-not-watched", sites.SettingsNotWatched, sites.SettingsSite,
        [create(SETTINGS, WITH_SETTINGS), change(SETTINGS, {"data": {"colour": "blue"}})],
    ),
    Case("fight", sites.FightingSite, sites.PutSite, [create(SITE)], beside=(sites.Autoscaler,)),
    Case("counts-itself", sites.CountsItself, sites.OwningSite, [create(SITE)]),
    Case("list-by-order", sites.ListByOrder, sites.HostsSite, [create(HOSTS)]),
    Case("no-owner", sites.SiteReconciler, sites.OwningSite, [create(SITE), delete(SITE)]),
    Case("charged-twice", buckets.ChargedTwice, buckets.Charged, [create(BUCKET)]),
    Case("finalizer-first", buckets.FinalizerFirst, buckets.Finalized, [create(BUCKET), delete(BUCKET)]),
    Case("without-finalizer", buckets.WithoutFinalizer, buckets.Finalized, [create(BUCKET), delete(BUCKET)]),
    Case(
        "done-by-name", buckets.DoneByName, buckets.Finalized,
        [create(BUCKET), delete(BUCKET), create(Bucket(meta(), BucketSpec(plan="gold")))],
    ),
    Case("old-name-stays", buckets.OldNameStays, buckets.SecretBucket, [create(BUCKET)]),
    Case("password-again", buckets.PasswordAgain, buckets.SecretBucket, [create(BUCKET)]),
    Case("exists-is-fatal", buckets.ExistsIsFatal, buckets.SecretBucket, [create(BUCKET)]),
    Case("missing-is-an-error", buckets.MissingIsAnError, buckets.DeletesOther, [create(BUCKET), delete(BUCKET)]),
    Case("first-part-means-done", buckets.FirstPartMeansDone, buckets.TwoParts, [create(BUCKET)]),
    Case("failed-for-ever", buckets.FailedForEver, buckets.Sized, [create(BUCKET)]),
    Case("generated-name", pools.GeneratedName, pools.NamedChild, [create(POOL)]),
    Case(
        "stale-scale-down", pools.StaleScaleDown, pools.PoolReconciler,
        [create(POOL), change(POOL, spec(replicas=3))],
    ),
    Case("removed-item-stays", pools.RemovedItemStays, pools.ListedPool, [create(LISTED)]),
    Case("wrong-end", pools.WrongEnd, pools.PoolReconciler, [create(Pool(meta(), PoolSpec(replicas=3)))]),
    Case("looks-by-new-tier", pools.LooksByNewTier, pools.TierPool, [create(POOL)]),
    Case("deletes-by-name", pools.DeletesByName, pools.Session, [create(POOL), change(POOL, spec(session="second"))]),
    Case("changes-immutable", pools.ChangesImmutable, pools.Session, [create(POOL)]),
    Case("revision-by-count", pools.RevisionByCount, pools.Revisions, [create(POOL)]),
    Case("stale-collector", pools.StaleCollector, pools.Collector, [create(POOL), create(Pool(meta("b"), PoolSpec()))]),
    Case("progress-in-memory", tasks.ProgressInMemory, tasks.TaskReconciler, [create(TASK)]),
    Case(
        "deadline-in-memory", tasks.DeadlineInMemory, tasks.Deadline,
        [create(TASK), advance(30), change(TASK, spec(note="late")), advance(31)],
        options={"settle": 1.0},
    ),
    Case("cleans-up-first", tasks.CleansUpFirst, tasks.Once, [create(TASK)]),
    Case("runs-again", tasks.RunsJobAgain, tasks.RunsJob, [create(TASK)]),
    Case("remembers-to-create", tasks.RemembersToCreate, tasks.Recreates, [create(TASK), change(TASK, spec(size=5))]),
    Case("adds-differences", tasks.AddsDifferences, tasks.Sum, [create(TASK), change(TASK, spec(size=5))]),
    Case("leaves-child", grants.LeavesChild, grants.GrantReconciler, [create(GRANT), delete(GRANT)]),
    Case(
        "owner-elsewhere", grants.OwnerElsewhere, grants.GrantReconciler, [create(GRANT)],
        options={"at_rest": [each_grant_has_its_config_map]},
    ),
    Case(
        "takes-over", grants.TakesOver, grants.Careful, [create(FOREIGN), create(GRANT)],
        options={"invariants": [foreign_data_stays]},
    ),
    Case(
        "any-label", grants.AnyLabel, grants.LabelledByUser, [create(GRANT)],
        options={"examples": {"spec.user": ["ann lee"]}},
    ),
    Case(
        "old-label-ignored", grants.OldLabelIgnored, grants.Counter,
        [create(GRANT, OTHER_GRANT, LABELLED), change(LABELLED, {"metadata": {"labels": {"grant": "b"}}})],
    ),
    Case("ignores-labels", inputs.IgnoresLabels, inputs.TeamGrant, [create(TEAM_GRANT)]),
    Case("colour-once", inputs.ColourOnce, inputs.ColourGrant, [create(GRANT)]),
    Case("label-stays", inputs.LabelStays, inputs.LabelCopier, [create(TEAM_GRANT)]),
    Case("claims-refused", inputs.ClaimsRefused, inputs.ReportsInvalid, [create(GRANT)]),
    Case("invalid-for-ever", inputs.InvalidForEver, inputs.RecoversFromInvalid, [create(GRANT)]),
    Case("records-first", inputs.RecordsFirst, inputs.NamedBucket, [create(BUCKET)]),
    Case(
        "degraded-for-ever", inputs.DegradedForEver, inputs.Quota,
        [create(Bucket(meta(), BucketSpec(size=3))), change(BUCKET, spec(size=7))],
    ),
    Case("compares-unsorted", inputs.ComparesUnsorted, inputs.SortedHosts, [create(HOSTS)]),
    Case("waits-for-all", inputs.WaitsForAll, inputs.DistinctMembers, [create(LISTED)]),
    Case(
        "settings-unwatched", dependents.SettingsUnwatched, dependents.ColourSite,
        [create(SETTINGS), create(WITH_SETTINGS)],
    ),
    Case(
        "polls-while-missing", dependents.PollsWhileMissing, dependents.PollsSettings,
        [create(SETTINGS), create(WITH_SETTINGS)],
    ),
    Case(
        "missing-for-ever", dependents.MissingForEver, dependents.ColourSite, [create(SETTINGS), create(WITH_SETTINGS)],
    ),
    Case("creation-only", dependents.CreationOnly, dependents.ColourSite, [create(SETTINGS, WITH_SETTINGS)]),
    Case(
        "forgets-after-deletion", dependents.ForgetsAfterDeletion, dependents.DeletedSettings,
        [create(SETTINGS, WITH_SETTINGS)],
    ),
    Case("secret-is-late", dependents.SecretIsLate, dependents.Credentials, [create(SECRET), create(BUCKET)]),
    Case("steals-children", dependents.StealsChildren, dependents.RespectsOwners, [create(GRANT)]),
    Case(
        "scales-back", workloads.ScalesBack, workloads.LeavesScaleAlone, [create(Site(meta(), SiteSpec("v1")))],
    ),
    Case("compares-all", workloads.ComparesAll, workloads.ComparesFields, [create(SITE)]),
    Case("all-labels", workloads.AllLabels, workloads.OwnLabelsOnly, [create(GRANT)]),
    Case("job-for-first-size", workloads.JobForFirstSize, workloads.JobForEachSize, [create(TASK)]),
    Case("leaves-cordoned", workloads.LeavesCordoned, workloads.Drain, [create(NODE), create(POD), create(BUCKET)]),
    Case("counts-up", workloads.CountsUp, workloads.Summary, [create(POOL), create(Pool(meta("b"), PoolSpec()))]),
    Case("outlives", workloads.Outlives, workloads.Keeps, [create(GRANT)]),
    Case("first-phase", workloads.FirstPhase, workloads.Recorder, [create(SITE), change(SITE, spec(image="v2"))]),
    Case("forgets-old-name", buckets.ForgetsOldName, buckets.SecretBucket, [create(BUCKET)]),
    Case("removed-unseen", buckets.WithoutFinalizer, buckets.Finalized, [create(BUCKET)]),
    Case("finalizer-before-end", buckets.FinalizerFirst, buckets.Finalized, [create(BUCKET)]),
    Case("expires-once", everyday.ExpiresOnce, everyday.Expiring, [create(TASK)]),
    Case("records-newest", everyday.RecordsNewest, everyday.Copies, [create(TASK), change(TASK, spec(note="late"))]),
    Case("counts-creations", everyday.CountsCreations, everyday.CountedSteps, [create(TASK)]),
    Case("always-now", everyday.AlwaysNow, everyday.Conditional, [create(BUCKET)]),
    Case("only-owner", everyday.OnlyOwner, everyday.SharesOwners, [create(GRANT)]),
    Case("ports-by-cache", everyday.PortsByCache, everyday.Ports, [create(POOL, Pool(meta("b"), PoolSpec()))]),
    Case(
        "cut-names", everyday.CutNames, everyday.ShortNames,
        [create(Pool(meta(), PoolSpec(members=("customer-north-1", "customer-north-2"))))],
    ),
    Case("hashes-plan", everyday.HashesPlan, everyday.Hashed, [create(BUCKET)]),
    Case("record-stays", everyday.RecordStays, everyday.Records, [create(BUCKET), change(BUCKET, spec(plan="gold"))]),
    Case("rotates-late", everyday.RotatesLate, everyday.Rotates, [create(TASK), advance(400), advance(300)]),
    Case("skips-conflict", everyday.SkipsConflict, everyday.Marks, [create(GRANT), change(GRANT, spec(user="bob"))]),
    Case("generates-by-cache", everyday.GeneratesByCache, everyday.OneGenerated, [create(POOL)]),
    Case("stays-cordoned", everyday.StaysCordoned, workloads.Drain, [create(NODE), create(POD), create(BUCKET)]),
    Case(
        "volume-by-status", lifecycles.VolumeByStatus, lifecycles.TaggedVolume,
        [create(OTHER_BUCKET, BUCKET), change(BUCKET, spec(size=2)), delete(OTHER_BUCKET)],
    ),
    Case("leaves-copy", lifecycles.LeavesCopy, lifecycles.CopiesGrant, [create(TEAM), create(GRANT)]),
    Case(
        "stays-paused", lifecycles.StaysPaused, lifecycles.Pausable,
        [create(GRANT), change(GRANT, spec(user="bob")), delete(GRANT)],
    ),
    Case("ready-for-ever", lifecycles.ReadyForEver, lifecycles.OwnsConfig, [create(GRANT)]),
    Case("hides-fixed-size", lifecycles.HidesFixedSize, lifecycles.FixedSize, [create(BUCKET)]),
    Case(
        "asks-once", lifecycles.AsksOnce, lifecycles.FollowsSite,
        [create(Site(meta("web"), SiteSpec("v1"))), create(POOL)], beside=(lifecycles.SiteImages,),
    ),
    Case(
        "settings-unwatched-until-deletion", dependents.SettingsUnwatched, dependents.ColourSite,
        [create(SETTINGS), create(WITH_SETTINGS), delete(WITH_SETTINGS)],
    ),
    Case(
        "ports-by-cache-again", everyday.PortsByCache, everyday.Ports,
        [create(POOL, Pool(meta("b"), PoolSpec())), delete(POOL), create(Pool(meta("c"), PoolSpec()))],
    ),
    Case(
        "leaves-cordoned-and-ends", workloads.LeavesCordoned, workloads.Drain,
        [create(NODE), create(POD), create(BUCKET), delete(BUCKET)],
    ),
    Case(
        "job-for-first-size-and-ends", workloads.JobForFirstSize, workloads.JobForEachSize,
        [create(TASK), change(TASK, spec(size=5)), delete(TASK)],
    ),
    Case("host-stays", settled.HostStays, settled.HostRecords, [create(HOSTS)]),
    Case(
        "waits-for-ever", settled.WaitsForEver, settled.OldestGrants,
        [create(GRANT, OTHER_GRANT, Grant(meta("c"), GrantSpec())), delete(GRANT)],
    ),
    Case("token-of-the-process", settled.TokenOfTheProcess, settled.TokenOnce, [create(BUCKET)]),
    Case(
        "ready-by-old-status", settled.ReadyByOldStatus, settled.RolledOut,
        [create(SITE), change(SITE, spec(image="v2"))],
    ),
    Case("fights-autoscaler", settled.FightsAutoscaler, settled.Autoscaled, [create(SITE)]),
    Case("bad-blocks-others", settled.BadBlocksOthers, settled.Expires, [create(*EXPIRING), advance(60), advance(60)]),
    Case("clears-taints", settled.ClearsTaints, settled.Tainted, [create(TAINTED, GRANT)]),
    Case("keeps-all", settled.KeepsAll, settled.LastTwo, [create(SITE), change(SITE, spec(image="v2"))]),
    Case("ends-as-created", settled.EndsAsCreated, settled.Ends, [create(TASK)]),
    Case("stays-quiet", settled.StaysQuiet, settled.Quiesces, [create(APP, BUCKET)]),
    Case(
        "history-by-memory", records.HistoryByMemory, records.KeepsHistory,
        [create(SITE), change(SITE, spec(image="v2")), change(SITE, spec(image="v3"))],
    ),
    Case("counts-first", records.CountsFirst, records.CountsAttempts, [create(BUCKET)]),
    Case("accepts-alone", records.AcceptsAlone, records.Accepts, [create(GRANT)], beside=(records.Programs,)),
    Case("runs-without-key", records.RunsWithoutKey, records.RunsOnce, [create(TASK)]),
    Case(
        "bills-once", records.BillsOnce, records.Bills, [create(GRANT), change(GRANT, spec(user="bob")), delete(GRANT)],
    ),
    Case("alternates-by-count", records.AlternatesByCount, records.Alternates, [create(BUCKET)]),
    Case("autoscaler-later", settled.FightsAutoscaler, references.KeepsScale, [create(SITE)]),
    Case("addresses-once", references.AddressesOnce, references.Addresses, [create(GRANT), create(*PODS)]),
    Case("unwatched", references.Unwatched, references.Watched, [create(GRANT)]),
    Case(
        "former-copy-stays", references.FormerCopyStays, references.FollowsName,
        [create(*USERS), create(GRANT)],
    ),
    Case("only-its-pull-secret", references.OnlyItsPullSecret, references.AddsPullSecret, [create(ACCOUNT, GRANT)]),
    Case(
        "request-stays", references.RequestStays, references.Requests,
        [create(POOL), change(POOL, spec(session="second")), change(POOL, spec(session="third"))],
    ),
    Case(
        "secret-first", references.SecretFirst, references.NeedsSecret,
        [create(SECRET), create(BUCKET), delete(BUCKET), delete(SECRET)],
    ),
    Case("rolls-by-name", references.RollsByName, references.RollsByHash, [create(SETTINGS), create(WITH_SETTINGS)]),
    Case("hides-larger-size", records.HidesLargerSize, records.GrowsOnly, [create(BUCKET)]),
    Case("elects-once", references.ElectsOnce, references.Elects, [create(GRANT), create(PODS[0]), create(PODS[1])]),
    Case(
        "former-in-status", references.FormerInStatus, references.Generations,
        [create(Site(meta(), SiteSpec("v1"))), change(SITE, spec(image="v2"))],
    ),
    Case(
        "stays-paused-and-resumed", lifecycles.StaysPaused, lifecycles.Pausable,
        [create(GRANT), change(GRANT, paused("true")), change(GRANT, paused(None))],
    ),
    Case("holds-former-lock", turns.HoldsFormerLock, turns.Locks, [create(GRANT), create(OTHER_GRANT), delete(GRANT)]),
    Case("records-job-first", turns.RecordsJobFirst, turns.NotedJobs, [create(TASK), change(TASK, spec(size=2))]),
    Case("logs-failed-parts", turns.LogsFailedParts, turns.Parts, [create(SITE)]),
    Case("by-count", turns.ByCount, turns.ByIndex, [create(POOL), change(POOL, spec(replicas=3))]),
    Case("asks-autoscaler", turns.AsksAutoscaler, settled.Autoscaled, [create(SITE)]),
    Case("image-at-start", turns.ImageAtStart, turns.ImageOfSettings, [create(SETTINGS), create(SITE)]),
    Case("scales-by-status", turns.ScalesByStatus, turns.Scales, [create(APP), create(SCALER)]),
    Case(
        "waits-for-itself", turns.WaitsForItself, turns.WaitsForGrants,
        [create(BUCKET), create(GRANT), delete(BUCKET), delete(GRANT)],
    ),
    Case(
        "adopts-for-ever", turns.AdoptsForEver, turns.Adopts,
        [create(PART), create(POOL), change(PART, {"metadata": {"labels": {turns.PART: "api"}}}), delete(POOL)],
    ),
    Case(
        "restarts-after-status", turns.RestartsAfterStatus, turns.RestartsOnce,
        [create(APP), create(BUCKET), advance(4000)],
    ),
    Case(
        "password-by-apply", buckets.PasswordByApply, buckets.PasswordByCreate,
        [create(BUCKET), change(BUCKET, spec(plan="large"))],
    ),
    Case("record-before-finalizer", marked.RecordBeforeFinalizer, marked.RecordsHost, [create(WEB)]),
    Case(
        "binds-first-team", marked.BindsFirstTeam, marked.BindsTeam,
        [create(BLUE), change(BLUE, {"metadata": {"labels": {marked.TIER: "large"}}})],
    ),
)  # fmt: skip
