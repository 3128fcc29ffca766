#!/usr/bin/env bash
# APScheduler 3.11.3 (PyPI)
# Behaviour: in CronTrigger.from_crontab, weekday 0 is Monday: "0 0 * * 0" fires on Mondays, "1-5" is Tuesday to
#   Saturday, and 7 is an error.
# Expected: Sunday, as in crontab, from which the function has its name, and in CronJobs of Kubernetes.
# Matters: a schedule copied from a CronJob runs a day late, without an error.
. "$(dirname "$0")/lib.sh"
pypi APScheduler==3.11.3

observe python - <<'CODE'
from datetime import datetime, timezone

from apscheduler.triggers.cron import CronTrigger

start = datetime(2026, 1, 1, 1, tzinfo=timezone.utc)
for schedule in ("0 0 * * 0", "0 0 * * 6"):
    trigger = CronTrigger.from_crontab(schedule, timezone=timezone.utc)
    print(schedule, f"{trigger.get_next_fire_time(None, start):%A}")
CODE
expect "0 0 * * 0 Monday
0 0 * * 6 Sunday"
