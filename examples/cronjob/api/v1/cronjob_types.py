"""API type CronJob of batch.example.com/v1.

Run `make manifests generate` after each change.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal

from clientgo.kubernetes.types.batch_v1 import JobTemplateSpec
from clientgo.kubernetes.types.core_v1 import ObjectReference
from clientgo.kubernetes.types.shared import Condition
from clientgo.meta import Column, Int32, Int64, Meta, ObjectMeta, api_type


@dataclass(frozen=True, slots=True)
class CronJobSpec:
    """Desired state of a CronJob."""

    schedule: Annotated[str, Meta(min_length=1, description="Times in UTC, in cron's five fields.")]
    job_template: Annotated[JobTemplateSpec, Meta(description="Job to start at each of these times.")]
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


@dataclass(frozen=True, slots=True)
class CronJobStatus:
    """Observed state of a CronJob."""

    observed_generation: Annotated[Int64, Meta(description="Generation of the spec that this status describes.")] = 0
    active: Annotated[tuple[ObjectReference, ...], Meta(list_type="atomic", description="Jobs that run, by name.")] = ()
    last_schedule_time: Annotated[
        datetime | None, Meta(description="Time of the schedule for which a Job was started last.")
    ] = None
    conditions: Annotated[
        tuple[Condition, ...],
        Meta(list_type="map", list_map_keys=("type",), description="Latest observations of the object's state."),
    ] = ()


@api_type(
    group="batch.example.com",
    version="v1",
    columns=(
        Column("Schedule", "string", ".spec.schedule"),
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
