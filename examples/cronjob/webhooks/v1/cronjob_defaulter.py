"""Defaulting webhook of CronJob."""

from clientgo.meta import change
from clientgo.meta.declarations import admission_webhook
from clientgo.webhook import AdmissionRequest, WebhookServer, webhook_managed_by

from api.v1.cronjob_types import CronJob

PATH = "/mutate-batch-example-com-v1-cronjob"


@admission_webhook(
    path=PATH,
    mutating=True,
    groups="batch.example.com",
    resources="cronjobs",
    verbs=("create", "update"),
    versions="v1",
    name="mcronjob-v1.batch.example.com",
)
class CronJobDefaulter:
    """Sets defaults of CronJob objects."""

    def default(self, obj: CronJob, request: AdmissionRequest, /) -> CronJob:
        """Return the object with its defaults: the pods of a Job are restarted in place if they fail.

        The default of pods, Always, is invalid in Jobs.
        """
        if obj.spec.job_template.spec.template.spec.restart_policy:
            return obj
        return change(obj, lambda o: o.spec.job_template.spec.template.spec.restart_policy).to("OnFailure")

    def setup_with_server(self, server: WebhookServer) -> None:
        """Register the webhook with the server."""
        webhook_managed_by(server).for_(CronJob).with_defaulter(self, path=PATH).complete()
