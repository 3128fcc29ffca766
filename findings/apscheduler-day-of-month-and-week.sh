#!/usr/bin/env bash
# APScheduler 3.11.3 (PyPI)
# Behaviour: with both a day of the month and a weekday, CronTrigger.from_crontab requires both: "0 0 13 * fri" fires
#   on a Friday the 13th, next on 2026-02-13.
# Expected: either of the two is enough, as in crontab and in CronJobs: next on 2026-01-02, a Friday (croniter 7.0.0).
# Matters: a schedule copied from a CronJob runs some times a year instead of weekly.
. "$(dirname "$0")/lib.sh"
pypi APScheduler==3.11.3 croniter==7.0.0

observe python - <<'CODE'
from datetime import datetime, timezone

from apscheduler.triggers.cron import CronTrigger
from croniter import croniter

start = datetime(2026, 1, 1, 1, tzinfo=timezone.utc)
trigger = CronTrigger.from_crontab("0 0 13 * fri", timezone=timezone.utc)
print(trigger.get_next_fire_time(None, start).date(), croniter("0 0 13 * fri", start).get_next(datetime).date())
CODE
expect "2026-02-13 2026-01-02"
