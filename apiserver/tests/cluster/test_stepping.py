"""A server whose clock a test steps, over HTTP."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from apiserver.tests.cluster.podcluster import pod_template
from apiserver.tests.inprocess import PODS
from clientgo.envtest import Environment
from clientgo.envtest.options import BundledServer
from clientgo.errors import BadRequest
from clientgo.rest import RESTClient
from clientgo.testing.clock import FakeClock
from clientgo.testing.eventually import eventually

pytestmark = pytest.mark.integration

CRON_JOBS = "/apis/batch/v1/namespaces/default/cronjobs"
JOBS = "/apis/batch/v1/namespaces/default/jobs"


class Stepped:
    """Environment with pods whose time stands still, and a client of it."""

    def __init__(self, environment: Environment, clock: FakeClock) -> None:
        self.environment = environment
        self.clock = clock
        self.client = RESTClient(environment.config)

    def send(self, method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        return json.loads(self.client.raw(method, path, body=data))

    def items(self, path: str) -> list[dict[str, Any]]:
        listed: list[dict[str, Any]] = self.send("GET", path)["items"]
        return listed


@pytest.fixture
def stepped() -> Iterator[Stepped]:
    clock = FakeClock()
    environment = Environment(server=BundledServer(ready_seconds=2.0), clock=clock)
    with environment:
        client = Stepped(environment, clock)
        try:
            yield client
        finally:
            client.client.close()


def pod(name: str, **annotations: str) -> dict[str, Any]:
    template = pod_template(name, "i")
    marks = {f"simulation.clientgo.dev/{key}": value for key, value in annotations.items()}
    metadata = {"name": name, "annotations": marks}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}


def phase(stepped: Stepped, name: str) -> str:
    value: str = stepped.send("GET", f"{PODS}/{name}")["status"]["phase"]
    return value


def test_nothing_happens_later_until_the_clock_is_advanced(stepped: Stepped) -> None:
    stepped.send("POST", PODS, pod("p"))
    stepped.environment.advance(1)
    assert phase(stepped, "p") == "Pending"
    stepped.environment.advance(1)
    assert phase(stepped, "p") == "Running"


def test_day_passes_with_every_job_of_a_cron_job(stepped: Stepped) -> None:
    template = {"spec": {**pod_template("c", "i")["spec"], "restartPolicy": "Never"}}
    spec = {
        "schedule": "0 */6 * * *",
        "jobTemplate": {"spec": {"template": template}},
        "successfulJobsHistoryLimit": 10,
    }
    metadata = {"name": "c"}
    stepped.send("POST", CRON_JOBS, {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": metadata, "spec": spec})
    stepped.environment.advance(24 * 3600)
    jobs = stepped.items(JOBS)
    times = [job["metadata"]["creationTimestamp"][11:] for job in sorted(jobs, key=lambda job: job["metadata"]["name"])]
    assert times == ["00:00:00Z", "06:00:00Z", "12:00:00Z", "18:00:00Z"]
    assert [job["status"]["succeeded"] for job in jobs] == [1] * 4


def test_stepping_the_clock_is_noticed_without_the_server_being_told(stepped: Stepped) -> None:
    stepped.send("POST", PODS, pod("p"))

    def phase_a_second_later() -> str:
        stepped.clock.step(1)
        return phase(stepped, "p")

    eventually(phase_a_second_later, lambda value: value == "Running")


def test_log_of_a_pod_is_what_its_annotation_says(stepped: Stepped) -> None:
    stepped.send("POST", PODS, pod("p", logs="one\ntwo\n"))
    stepped.environment.advance(3)
    assert stepped.client.raw("GET", f"{PODS}/p/log") == b"one\ntwo\n"
    assert stepped.client.raw("GET", f"{PODS}/p/log", query={"tailLines": "1"}) == b"two\n"


@pytest.mark.parametrize("query", [{"tailLines": "x"}, {"limitBytes": "1.5"}])
def test_log_with_an_option_that_is_no_number_is_a_bad_request(stepped: Stepped, query: dict[str, str]) -> None:
    stepped.send("POST", PODS, pod("p", logs="text"))
    stepped.environment.advance(3)
    with pytest.raises(BadRequest):
        stepped.client.raw("GET", f"{PODS}/p/log", query=query)
