#!/usr/bin/env bash
# cronsim 2.8 (PyPI)
# Behaviour: "*/2" as day of the month counts as a star beside a weekday: "0 0 */2 * 1" fires only on Mondays with an
#   odd date. croniter 7.0.0 fires on every odd date and on every Monday.
# Expected: as croniter: CronJobs of Kubernetes treat only "*", "?" and "*/1" as a star, so either field is enough.
# Matters: two packages that are used to predict runs of a CronJob disagree about a valid schedule.
. "$(dirname "$0")/lib.sh"
pypi cronsim==2.8 croniter==7.0.0

observe python - <<'CODE'
from datetime import datetime, timezone
from itertools import islice

from croniter import croniter
from cronsim import CronSim

start = datetime(2026, 1, 1, 1, tzinfo=timezone.utc)
for times in (CronSim("0 0 */2 * 1", start), croniter("0 0 */2 * 1", start, ret_type=datetime)):
    print(*(f"{time:%a-%d}" for time in islice(times, 3)))
CODE
expect "Mon-05 Mon-19 Mon-09
Sat-03 Mon-05 Wed-07"
