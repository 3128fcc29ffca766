import pytest
from clientgo.manager import Client
from clientgo.meta import ApiObject, ObjectName, change

from api.v1 import cronjob_types as v1
from api.v2 import cronjob_types as v2
from tests.samples import sample
from webhooks.v2.cronjob_conversion import from_hub, to_hub

NAME = ObjectName("default", "v2-cronjob")
SAMPLE = "batch_v2_cronjob.yaml"


def test_sample_survives_a_round_trip() -> None:
    original = sample(v2.CronJob, SAMPLE, **NAME._asdict())

    assert from_hub(to_hub(original)) == original


def test_object_can_be_read_in_both_versions(client: Client, created: list[ApiObject]) -> None:
    stored = client.create(sample(v2.CronJob, SAMPLE, **NAME._asdict()))
    created.append(stored)

    read = client.get(v1.CronJob, NAME)
    assert read.spec.schedule == "*/5 8-18 * * mon-fri"
    assert from_hub(read).spec == client.get(v2.CronJob, NAME).spec == stored.spec


def test_schedule_without_five_parts_cannot_be_read_in_v2() -> None:
    hub = sample(v1.CronJob, "batch_v1_cronjob.yaml", **NAME._asdict())
    with pytest.raises(ValueError, match=r"spec\.schedule '@daily' has 1 parts, and v2 five"):
        from_hub(change(hub, lambda o: o.spec.schedule).to("@daily"))
