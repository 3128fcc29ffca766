import pytest

from apiserver.tests.cluster.podcluster import CRON_JOBS, JOBS, Object, PodCluster, pod_template
from clientgo_apiserver.cluster.cronschedule import times_after


@pytest.fixture
def cluster() -> PodCluster:
    return PodCluster()


def cron_job(cluster: PodCluster, schedule: str = "*/5 * * * *", **spec: object) -> None:
    template = {"spec": {"template": {"spec": {**pod_template("c", "i")["spec"], "restartPolicy": "Never"}}}}
    meta: Object = {"name": "c"}
    job = {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": meta}
    cluster.create(CRON_JOBS, {**job, "spec": {"schedule": schedule, "jobTemplate": template, **spec}})


def test_cron_job_over_a_day_keeps_its_history(cluster: PodCluster) -> None:
    cron_job(cluster, "0 * * * *")
    for _ in range(24 * 60):
        cluster.step(60)
    jobs = [job["metadata"]["creationTimestamp"] for job in cluster.store.list(JOBS)]
    assert len(jobs) == 3
    assert all(time.endswith((":00:20Z", ":00:00Z")) for time in jobs)
    assert cluster.status(CRON_JOBS, "c")["lastScheduleTime"].endswith(":00:00Z")
    assert "active" not in cluster.status(CRON_JOBS, "c")


@pytest.mark.parametrize(("policy", "jobs"), [("Allow", 3), ("Forbid", 1), ("Replace", 1)])
def test_concurrency_policy_of_a_cron_job(cluster: PodCluster, policy: str, jobs: int) -> None:
    cron_job(cluster, concurrencyPolicy=policy)
    for _ in range(15 * 60 // 5):
        for job in cluster.store.list(JOBS):
            if (
                "annotations" not in job["metadata"]
                or "simulation.clientgo.dev/job" not in job["metadata"]["annotations"]
            ):
                cluster.annotate(JOBS, job["metadata"]["name"], "job", "running")
        cluster.step(5)
    assert len(cluster.store.list(JOBS)) == jobs


def test_suspended_cron_job_creates_nothing_and_then_one_job_for_the_missed_time(cluster: PodCluster) -> None:
    cron_job(cluster, suspend=True)
    for _ in range(12):
        cluster.step(300)
    assert cluster.store.count(JOBS) == 0
    cluster.change(CRON_JOBS, "c", suspend=False)
    assert cluster.store.count(JOBS) == 1


@pytest.mark.parametrize(
    ("schedule", "zone", "after", "expected"),
    [
        ("0 0 * * *", "", 1_700_000_000, 1_700_006_400),
        ("0 0 */2 * mon", "", 1_700_000_000, 1_700_006_400),
        ("0 0 */1 * mon", "", 1_700_000_000, 1_700_438_400),
        ("@hourly", "", 1_700_000_000, 1_700_002_800),
        ("30 9 * * mon-fri", "Europe/Berlin", 1_700_000_000, 1_700_037_000),
        ("0 0 13 * fri", "", 1_700_000_000, 1_700_179_200),  # either day, as neither field is a star
        ("*/7 * * * *", "", 1_700_000_000, 1_700_000_040),
        ("@every 90s", "", 1_700_000_000, 1_700_000_090),
    ],
)
def test_next_time_of_a_schedule(schedule: str, zone: str, after: int, expected: int) -> None:
    assert next(times_after(schedule, zone, after)) == expected


def test_a_schedule_without_any_time_ends() -> None:
    assert list(times_after("0 0 30 2 *", "", 1_700_000_000)) == []
