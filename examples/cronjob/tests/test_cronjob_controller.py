from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from clientgo.errors import AlreadyExists
from clientgo.kubernetes.types.batch_v1 import Job, JobCondition, JobSpec, JobStatus, JobTemplateSpec
from clientgo.kubernetes.types.core_v1 import Container, PodSpec, PodTemplateSpec
from clientgo.manager import Client, Manager, Result, find_status_condition
from clientgo.meta import ApiObject, ObjectMeta, ObjectName, change, replace
from clientgo.perturb import ClusterState, advance, create, delete
from clientgo.perturb import change as changed
from clientgo.record import FakeRecorder
from clientgo.testing.client import FakeClient
from clientgo.testing.clock import FakeClock
from clientgo.testing.eventually import eventually

from api.v1.cronjob_types import CronJob, CronJobSpec
from controllers.cronjob_controller import CronJobReconciler
from tests.samples import sample

NAME = ObjectName("default", "report")
CREATED = datetime(2026, 11, 23, 10, 0, 30, tzinfo=UTC)
FIRST = f"report-{int(CREATED.timestamp()) // 60 + 1}"
PODS = PodSpec(containers=[Container(name="report", image="busybox:1.37")], restart_policy="Never")
TEMPLATE = JobTemplateSpec(
    metadata=ObjectMeta(labels={"app": "report"}), spec=JobSpec(template=PodTemplateSpec(spec=PODS))
)
CRONJOB = CronJob(
    ObjectMeta(name="report", namespace="default", creation_timestamp=CREATED), CronJobSpec("* * * * *", TEMPLATE)
)


class Minutes:
    """A reconciler on a clock that is stepped by minutes, with everything that it writes."""

    def __init__(self, cronjob: CronJob = CRONJOB, *objects: ApiObject) -> None:
        self.client, self.clock, self.recorder = FakeClient(cronjob, *objects), FakeClock(), FakeRecorder(10)
        self.clock.set_time(CREATED.timestamp())
        self.reconciler = CronJobReconciler(self.client, self.recorder, clock=self.clock)

    def after(self, minutes: float) -> Result | None:
        """Let time pass and reconcile."""
        self.clock.step(60 * minutes)
        return self.reconciler.reconcile_request(NAME)

    @property
    def jobs(self) -> list[str]:
        return sorted(job.metadata.name for job in self.client.list(Job))

    def end(self, name: str, outcome: str = "Complete") -> None:
        """Store a Job as ended, with no more of its status than the reconciler reads."""
        job = self.client.get(Job, ObjectName("default", name))
        ended = JobStatus(conditions=[JobCondition(type=outcome, status="True")])
        self.client.tracker.add(replace(job, status=ended))

    @property
    def cronjob(self) -> CronJob:
        return self.client.get(CronJob, NAME)


def with_spec(**fields: object) -> CronJob:
    return replace(CRONJOB, spec=replace(CRONJOB.spec, **fields))


def test_nothing_starts_before_the_first_time_after_the_creation() -> None:
    minutes = Minutes()
    assert (minutes.after(0), minutes.jobs) == (Result(requeue_after=30.0), [])
    assert (minutes.after(0.5), minutes.jobs) == (Result(requeue_after=60.0), [FIRST])


def test_job_has_the_template_and_is_controlled_by_its_cronjob() -> None:
    minutes = Minutes()
    minutes.after(1)
    job = minutes.client.get(Job, ObjectName("default", FIRST))
    [owner] = job.metadata.owner_references
    assert (owner.kind, owner.name, owner.controller) == ("CronJob", "report", True)
    [container] = job.spec.template.spec.containers
    assert (job.metadata.labels, container.image) == ({"app": "report"}, "busybox:1.37")
    assert minutes.recorder.drain() == [f"Normal Started started Job {FIRST}"]


def test_status_lists_active_jobs_and_the_last_time() -> None:
    minutes = Minutes()
    minutes.after(1)
    status = minutes.cronjob.status
    assert [reference.name for reference in status.active] == [FIRST]
    assert status.last_schedule_time == CREATED.replace(minute=1, second=0)
    minutes.end(FIRST)
    minutes.after(0)
    assert minutes.cronjob.status.active == ()


def test_status_is_written_only_if_it_changed() -> None:
    minutes = Minutes()
    minutes.after(1)
    minutes.client.clear_actions()
    minutes.after(0)
    assert minutes.client.writes == []


def test_only_the_last_of_several_missed_times_is_made_up_for() -> None:
    minutes = Minutes()
    minutes.after(525_600)
    assert len(minutes.jobs) == 1


@pytest.mark.parametrize(("seconds", "count"), [(20, 0), (40, 1)])
def test_job_does_not_start_after_its_deadline(seconds: int, count: int) -> None:
    minutes = Minutes(with_spec(schedule="1 * * * *", starting_deadline_seconds=seconds))
    minutes.after(1)
    assert len(minutes.jobs) == count


@pytest.mark.parametrize(("policy", "running"), [("Allow", 2), ("Forbid", 1), ("Replace", 1)])
def test_concurrency_policy(policy: str, running: int) -> None:
    minutes = Minutes(with_spec(concurrency_policy=policy))
    minutes.after(1)
    minutes.after(1)
    assert len(minutes.jobs) == running
    assert (FIRST in minutes.jobs) == (policy != "Replace")


def test_suspended_cronjob_starts_nothing() -> None:
    minutes = Minutes(with_spec(suspend=True))
    assert (minutes.after(5), minutes.jobs) == (None, [])


def test_oldest_ended_jobs_are_deleted() -> None:
    minutes = Minutes(with_spec(successful_jobs_history_limit=1, failed_jobs_history_limit=0))
    for outcome in ("Complete", "Failed", "Complete"):
        minutes.after(1)
        minutes.end(minutes.jobs[-1], outcome)
    minutes.after(0)
    assert len(minutes.jobs) == 1


def test_deleted_job_is_not_started_again() -> None:
    minutes = Minutes(with_spec(successful_jobs_history_limit=0))
    minutes.after(1)
    minutes.end(FIRST)
    minutes.after(0)
    minutes.after(0)
    assert minutes.jobs == []


def test_job_that_the_cache_does_not_show_yet_counts_as_started() -> None:
    minutes = Minutes()
    minutes.client.fail("create", Job, AlreadyExists("exists"), times=1)
    with pytest.raises(Exception, match="not found"):  # in this test there is none, so it is read in vain
        minutes.after(1)
    assert minutes.after(0) == Result(requeue_after=30.0)
    assert minutes.jobs == [FIRST]


def test_name_of_others_is_an_error() -> None:
    foreign = Job(metadata=ObjectMeta(name=FIRST, namespace="default"))
    with pytest.raises(AlreadyExists):
        Minutes(CRONJOB, foreign).after(1)


def test_invalid_schedule_is_reported_in_the_status() -> None:
    minutes = Minutes(with_spec(schedule="never"))
    assert minutes.after(1) is None
    ready = find_status_condition(minutes.cronjob.status.conditions, "Ready")
    assert ready is not None and (ready.status, ready.reason) == ("False", "InvalidSchedule")


def test_sample_starts_a_job_on_a_server(
    manager: Manager, client: Client, started: Callable[[], Manager], created: list[ApiObject]
) -> None:
    reconciler = CronJobReconciler(manager.client, manager.recorder, clock=(clock := FakeClock()))
    manager.add_reconciler(reconciler)
    started()
    desired = sample(CronJob, "batch_v1_cronjob.yaml", **NAME._asdict())
    stored = client.create(change(desired, lambda o: o.spec.starting_deadline_seconds).to(None))
    created.append(stored)
    assert stored.metadata.creation_timestamp is not None
    clock.set_time(stored.metadata.creation_timestamp.replace(year=2100).timestamp())
    client.patch(stored, {"metadata": {"labels": {"now": "later"}}})

    [job] = eventually(lambda: manager.api_reader.list(Job, namespace="default"))

    created.append(job)
    assert job.spec.template.spec.restart_policy == "OnFailure"
    eventually(lambda: client.get(CronJob, NAME).status.last_schedule_time)


def at_most_one_active(state: ClusterState) -> bool:
    """Hold in a cluster in which the policy is Forbid."""
    return sum(not job["status"].get("conditions") for job in state.all("jobs.batch")) <= 1


def test_no_perturbation_changes_the_outcome(perturb: Callable[..., None]) -> None:
    spec = CronJobSpec("*/10 * * * *", TEMPLATE, concurrency_policy="Forbid", successful_jobs_history_limit=0)
    desired = CronJob(ObjectMeta(name="report", namespace="default"), spec)
    suspend = changed(desired, {"spec": {"suspend": True}})
    steps = [create(desired), advance(1500), suspend, advance(900), delete(desired)]
    off = {"status": "old Jobs are deleted only after the status remembers when they started"}
    perturb(CronJobReconciler, steps, invariants=[at_most_one_active], off=off)
