"""All cases, in the order in which they run."""

from benchmarks.cases import (
    backlog,
    cold,
    create,
    dashboard,
    growth,
    handover,
    idle,
    large,
    million,
    small,
    startup,
    storm,
    streams,
)
from benchmarks.model import Case

CASES: tuple[Case, ...] = (
    create.CREATE,
    create.CREATE_8,
    create.CREATE_16,
    create.CREATE_MANY,
    *backlog.BACKLOG,
    idle.IDLE,
    cold.COLD,
    cold.MEMORY,
    large.LARGE,
    storm.STORM,
    small.QUEUE,
    small.CODEC,
    small.REQUESTS,
    small.PAGES,
    streams.STREAMS,
    startup.HELP,
    startup.FIRST_LIST,
    handover.HAND_OVER,
    dashboard.DASHBOARD,
    growth.GROWTH,
    million.MILLION,
)
