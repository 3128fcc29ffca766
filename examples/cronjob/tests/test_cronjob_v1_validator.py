import pytest
from clientgo.errors import Forbidden, Invalid
from clientgo.manager import Client
from clientgo.meta import ApiObject, change

from api.v1.cronjob_types import CronJob
from tests.samples import sample


def cronjob(name: str, schedule: str = "* * * * *") -> CronJob:
    desired = sample(CronJob, "batch_v1_cronjob.yaml", name=name, namespace="default")
    return change(desired, lambda o: o.spec.schedule).to(schedule)


@pytest.mark.parametrize(
    ("desired", "message"),
    [
        (cronjob("invalid", "61 * * * *"), r"spec.schedule: Invalid value: .*minute '61' is not between 0 and 59"),
        (cronjob("x" * 53), r"metadata.name: Invalid value: .*must be no more than 52 characters"),
    ],
)
def test_invalid_object_is_rejected(client: Client, desired: CronJob, message: str) -> None:
    with pytest.raises((Invalid, Forbidden), match=message):
        client.create(desired)


def test_schedule_that_never_occurs_is_accepted_with_a_warning(
    client: Client, created: list[ApiObject], caplog: pytest.LogCaptureFixture
) -> None:
    created.append(client.create(cronjob("never", "0 0 31 2 *")))
    assert "0 0 31 2 * does not occur in the next eight years" in caplog.text


def test_new_schedule_is_validated(client: Client, created: list[ApiObject]) -> None:
    created.append(stored := client.create(cronjob("changed")))
    with pytest.raises((Invalid, Forbidden), match="expected five fields"):
        client.update(change(stored, lambda o: o.spec.schedule).to("@daily"))
