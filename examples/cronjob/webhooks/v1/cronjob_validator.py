"""Validating webhook of CronJob."""

from datetime import UTC, datetime

from clientgo.meta.declarations import admission_webhook
from clientgo.webhook import AdmissionRequest, Warnings, WebhookServer, webhook_managed_by
from clientgo.webhook.field import Error, Path, invalid, raise_if_any

from api.v1.cronjob_types import CronJob
from controllers.schedule import Schedule

PATH = "/validate-batch-example-com-v1-cronjob"

LONGEST_NAME = 52
"""A Job's name has up to 63 characters, of which a hyphen and the time take up to 11."""


# Add "delete" to the verbs to validate deletions.
@admission_webhook(
    path=PATH,
    mutating=False,
    groups="batch.example.com",
    resources="cronjobs",
    verbs=("create", "update"),
    versions="v1",
    name="vcronjob-v1.batch.example.com",
)
class CronJobValidator:
    """Validates CronJob objects: raises `clientgo.webhook.field.Errors` or `Denied`, or returns warnings."""

    def validate_create(self, obj: CronJob, request: AdmissionRequest, /) -> Warnings:
        """Validate a creation: the length of the name, which a schema cannot limit, and the schedule."""
        errors: list[Error] = []
        upcoming = None
        name, schedule = obj.metadata.name, obj.spec.schedule
        if len(name) > LONGEST_NAME:
            errors.append(invalid(Path("metadata") / "name", name, f"must be no more than {LONGEST_NAME} characters"))
        try:
            upcoming = Schedule.parse(schedule).next_after(datetime.now(UTC))
        except ValueError as error:
            errors.append(invalid(Path("spec") / "schedule", schedule, str(error)))
        raise_if_any(errors)
        return None if upcoming else [f"{schedule} does not occur in the next eight years"]

    def validate_update(self, old: CronJob, new: CronJob, request: AdmissionRequest, /) -> Warnings:
        """Validate an update, unless its schedule is as before: other changes must be possible."""
        return self.validate_create(new, request) if new.spec.schedule != old.spec.schedule else None

    def validate_delete(self, obj: CronJob, request: AdmissionRequest, /) -> Warnings:
        """Validate a deletion."""
        return None

    def setup_with_server(self, server: WebhookServer) -> None:
        """Register the webhook with the server."""
        webhook_managed_by(server).for_(CronJob).with_validator(self, path=PATH).complete()
