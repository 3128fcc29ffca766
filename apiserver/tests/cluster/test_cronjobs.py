"""Status of CronJobs."""

from typing import Any

from apiserver.tests.cluster.podcluster import PodCluster
from clientgo_apiserver.storage.stored import Key

CRON_JOBS: Key = ("batch", "cronjobs")
POD = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}


def test_reference_to_an_active_job_stays_as_it_was_when_the_job_began(cluster: PodCluster) -> None:
    template = {"spec": {"template": POD}}
    cluster.create(CRON_JOBS, {"metadata": {"name": "c"}, "spec": {"schedule": "* * * * *", "jobTemplate": template}})
    written: list[Any] = []
    cluster.store.subscribe(lambda _, key, __, new: written.append(new) if key == CRON_JOBS and new else None)
    cluster.step(20, times=4)
    actives = [each["status"]["active"] for each in written if each["status"].get("active")]
    assert len(actives) == 1, "one write when the Job begins"
    assert "active" not in written[-1]["status"]
    assert "lastSuccessfulTime" in written[-1]["status"]


def test_schedule_that_never_fires_is_an_event(cluster: PodCluster) -> None:
    spec = {"schedule": "0 0 31 2 *", "jobTemplate": {"spec": {"template": POD}}}
    cluster.create(CRON_JOBS, {"metadata": {"name": "c"}, "spec": spec})
    [event] = [each for each in cluster.store.list(("", "events")) if each["involvedObject"]["kind"] == "CronJob"]
    assert (event["type"], event["reason"]) == ("Warning", "InvalidSchedule")
    assert event["message"].startswith("invalid schedule: 0 0 31 2 * : ")
