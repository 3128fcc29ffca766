#!/usr/bin/env bash
# croniter 7.0.0, with tzdata 2026.6 (PyPI)
# Behaviour: "30 2 * * *" in New York fires at 03:00 on the night when 02:30 does not exist, and the same for
#   "*/30 2 * * *", where cronsim 2.8 has no run.
# Expected: no run on that day, or a run at 03:30, which is 2.5 hours after midnight.
# Matters: a CronJob with this schedule has no run that night; monitoring that predicts runs reports a missed one.
. "$(dirname "$0")/lib.sh"
pypi croniter==7.0.0 cronsim==2.8 tzdata==2026.6

observe python - <<'CODE'
from datetime import datetime
from zoneinfo import ZoneInfo

from croniter import croniter
from cronsim import CronSim

start = datetime(2026, 3, 7, 12, tzinfo=ZoneInfo("America/New_York"))
print(croniter("30 2 * * *", start).get_next(datetime).isoformat())
print(croniter("*/30 2 * * *", start).get_next(datetime).isoformat(), next(CronSim("*/30 2 * * *", start)).isoformat())
CODE
expect "2026-03-08T03:00:00-04:00
2026-03-08T03:00:00-04:00 2026-03-09T02:00:00-04:00"
