"""API type CronJob of batch.example.com/v2: as v1, with a field for each part of the schedule.

Run `make manifests generate` after each change.
"""

from dataclasses import dataclass
from typing import Annotated, Literal

from clientgo.kubernetes.types.batch_v1 import JobTemplateSpec
from clientgo.meta import Column, Int32, Int64, Meta, ObjectMeta, api_type

from api.v1.cronjob_types import CronJobStatus

Field = Annotated[str, Meta(pattern=r"^[^ ]+$", description="A part of the schedule, as cron's; `*` stands for any.")]


@dataclass(frozen=True, slots=True)
class CronSchedule:
    """Times in UTC at which Jobs start; by default each minute."""

    minute: Field = "*"
    hour: Field = "*"
    day_of_month: Field = "*"
    month: Field = "*"
    day_of_week: Field = "*"


@dataclass(frozen=True, slots=True)
class CronJobSpec:
    """Desired state of a CronJob."""

    job_template: Annotated[JobTemplateSpec, Meta(description="Job to start at each of these times.")]
    schedule: CronSchedule = CronSchedule()
    starting_deadline_seconds: Annotated[
        Int64 | None, Meta(ge=0, description="How late a Job may start; without it, as late as its next time.")
    ] = None
    concurrency_policy: Annotated[
        Literal["Allow", "Forbid", "Replace"],
        Meta(description="Whether a Job may start while another one runs, waits for it, or replaces it."),
    ] = "Allow"
    suspend: Annotated[bool, Meta(description="Whether no further Jobs start; those that run go on.")] = False
    successful_jobs_history_limit: Annotated[Int32, Meta(ge=0, description="Number of completed Jobs to keep.")] = 3
    failed_jobs_history_limit: Annotated[Int32, Meta(ge=0, description="Number of failed Jobs to keep.")] = 1


@api_type(
    group="batch.example.com",
    version="v2",
    storage=False,
    columns=(
        Column("Suspend", "boolean", ".spec.suspend"),
        Column("Last Schedule", "date", ".status.lastScheduleTime"),
    ),
)
@dataclass(frozen=True, slots=True)
class CronJob:
    """CronJob is the schema of the cronjobs API."""

    metadata: ObjectMeta
    spec: CronJobSpec
    status: CronJobStatus = CronJobStatus()
