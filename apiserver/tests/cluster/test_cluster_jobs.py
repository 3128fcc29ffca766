import pytest

from apiserver.tests.cluster.podcluster import CRON_JOBS, JOBS, PODS, Object, PodCluster, pod_template
from clientgo_apiserver.cluster.cronschedule import times_after

COUNTS = ("active", "succeeded", "failed")


@pytest.fixture
def cluster() -> PodCluster:
    return PodCluster()


def test_job_runs_pods_until_enough_have_succeeded(cluster: PodCluster) -> None:
    cluster.job(completions=3, parallelism=2)
    assert (cluster.counts(JOBS, *COUNTS, name="j"), len(cluster.pods())) == ((2, 0, 0), 2)
    cluster.step(times=6)
    assert cluster.counts(JOBS, *COUNTS, name="j") == (0, 3, 0)
    assert cluster.condition(JOBS, "Complete", "j") == ("True", "CompletionsReached")
    assert cluster.condition(JOBS, "SuccessCriteriaMet", "j") == ("True", "CompletionsReached")
    assert cluster.phases() == ["Succeeded"] * 3
    assert all("finalizers" not in pod["metadata"] for pod in cluster.pods())


def test_failed_pods_are_replaced_with_growing_delay_until_the_backoff_limit(cluster: PodCluster) -> None:
    cluster.job(backoffLimit=2, annotations={"simulation.clientgo.dev/job": "failed"})
    cluster.step(times=3)
    assert cluster.counts(JOBS, *COUNTS, name="j") == (0, 0, 1)
    cluster.step(times=12)
    assert cluster.counts(JOBS, "failed", name="j") == (2,)
    cluster.step(times=30)
    assert cluster.counts(JOBS, *COUNTS, name="j") == (0, 0, 3)
    assert cluster.condition(JOBS, "Failed", "j") == ("True", "BackoffLimitExceeded")


def test_indexed_job_lists_completed_indexes(cluster: PodCluster) -> None:
    cluster.job(completions=4, parallelism=4, completionMode="Indexed")
    indexes = sorted(
        pod["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"] for pod in cluster.pods()
    )
    assert indexes == ["0", "1", "2", "3"]
    cluster.step(times=3)
    assert cluster.status(JOBS, "j")["completedIndexes"] == "0-3"


def test_an_index_that_fails_too_often_fails_alone(cluster: PodCluster) -> None:
    cluster.job(completions=3, parallelism=3, completionMode="Indexed", backoffLimitPerIndex=0)
    bad = next(pod for pod in cluster.names() if pod.startswith("j-1-"))
    cluster.annotate(PODS, bad, "pod", "failed")
    cluster.step(times=4)
    status = cluster.status(JOBS, "j")
    assert (status["completedIndexes"], status["failedIndexes"]) == ("0,2", "1")
    assert cluster.condition(JOBS, "Failed", "j") == ("True", "FailedIndexes")


def test_a_success_policy_ends_the_job_early(cluster: PodCluster) -> None:
    policy = {"rules": [{"succeededIndexes": "0"}]}
    cluster.job(completions=3, parallelism=1, completionMode="Indexed", successPolicy=policy)
    cluster.step(times=4)
    assert cluster.condition(JOBS, "Complete", "j") == ("True", "SuccessPolicy")
    assert cluster.counts(JOBS, *COUNTS, name="j") == (0, 1, 0)


@pytest.mark.parametrize(("action", "expected"), [("FailJob", ("True", "PodFailurePolicy")), ("Ignore", ("", ""))])
def test_a_pod_failure_policy_decides_by_the_exit_code(
    cluster: PodCluster, action: str, expected: tuple[str, str]
) -> None:
    rule = {"action": action, "onExitCodes": {"operator": "In", "values": [42]}}
    cluster.job(backoffLimit=0, podFailurePolicy={"rules": [rule]})
    cluster.annotate(PODS, cluster.names()[0], "pod", "failed:42")
    cluster.step(times=3)
    assert cluster.condition(JOBS, "Failed", "j") == expected


def test_suspended_job_has_no_pods_and_runs_when_it_is_resumed(cluster: PodCluster) -> None:
    cluster.job(suspend=True)
    cluster.step()
    assert (cluster.names(), cluster.condition(JOBS, "Suspended", "j")) == ([], ("True", "JobSuspended"))
    cluster.change(JOBS, "j", suspend=False)
    assert cluster.condition(JOBS, "Suspended", "j") == ("False", "JobResumed")
    cluster.step(times=3)
    assert cluster.condition(JOBS, "Complete", "j") == ("True", "CompletionsReached")


def test_parallelism_0_runs_nothing(cluster: PodCluster) -> None:
    cluster.job(parallelism=0)
    cluster.step(times=3)
    assert (cluster.names(), cluster.counts(JOBS, *COUNTS, name="j")) == ([], (0, 0, 0))
    assert cluster.condition(JOBS, "Complete", "j") == ("", "")


def test_job_of_another_controller_is_left_alone(cluster: PodCluster) -> None:
    cluster.job(managedBy="example.com/queue")
    cluster.step(times=3)
    assert (cluster.names(), cluster.get(JOBS, "j").get("status")) == ([], {})


def test_a_deadline_ends_a_running_job(cluster: PodCluster) -> None:
    cluster.job(activeDeadlineSeconds=10, annotations={"simulation.clientgo.dev/job": "running"})
    cluster.step(times=5)
    assert cluster.counts(JOBS, "active", "ready", name="j") == (1, 1)
    cluster.step(times=8)
    assert cluster.condition(JOBS, "Failed", "j") == ("True", "DeadlineExceeded")
    assert cluster.names() == []


def test_finished_job_is_deleted_with_its_pods_after_its_ttl(cluster: PodCluster) -> None:
    cluster.job(ttlSecondsAfterFinished=30)
    cluster.step(times=5)
    assert cluster.store.count(JOBS) == 1
    cluster.step(times=32)
    assert (cluster.store.count(JOBS), cluster.names()) == (0, [])


def test_a_pod_with_restart_policy_on_failure_restarts_in_place(cluster: PodCluster) -> None:
    template = {"spec": {**pod_template("j", "i")["spec"], "restartPolicy": "OnFailure"}}
    cluster.job(template=template, annotations={"simulation.clientgo.dev/job": "failed"})
    cluster.step(times=20)
    (pod,) = cluster.pods()
    assert pod["status"]["containerStatuses"][0]["restartCount"] == 2
    assert pod["status"]["containerStatuses"][0]["state"]["waiting"]["reason"] == "CrashLoopBackOff"


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
