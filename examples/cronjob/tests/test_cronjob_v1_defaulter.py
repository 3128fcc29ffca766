from clientgo.manager import Client
from clientgo.meta import ApiObject, change

from api.v1.cronjob_types import CronJob
from tests.samples import sample


def test_failed_pods_are_restarted_by_default(client: Client, created: list[ApiObject]) -> None:
    desired = sample(CronJob, "batch_v1_cronjob.yaml", name="defaulted", namespace="default")
    created.append(stored := client.create(desired))
    assert stored.spec.job_template.spec.template.spec.restart_policy == "OnFailure"


def test_chosen_policy_is_kept(client: Client, created: list[ApiObject]) -> None:
    desired = sample(CronJob, "batch_v1_cronjob.yaml", name="chosen", namespace="default")
    never = change(desired, lambda o: o.spec.job_template.spec.template.spec.restart_policy).to("Never")
    created.append(stored := client.create(never))
    assert stored.spec.job_template.spec.template.spec.restart_policy == "Never"
