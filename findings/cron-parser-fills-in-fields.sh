#!/usr/bin/env bash
# cron-parser 5.10.5 (npm)
# Behaviour: missing fields count as stars: the empty text and "* * *" are schedules for every minute. The package has
#   a strict mode, which is off by default.
# Expected: an error: a schedule has five fields, or six with seconds.
# Matters: a schedule that was left empty in a custom resource runs every minute; a CronJob with it is rejected.
. "$(dirname "$0")/lib.sh"
npm_packages cron-parser@5.10.5

observe node --input-type=module - <<'CODE'
import { CronExpressionParser } from "cron-parser";

for (const schedule of ["", "* * *"]) {
  const times = CronExpressionParser.parse(schedule, { currentDate: new Date("2026-01-01T00:00:30Z"), tz: "UTC" });
  console.log(JSON.stringify(schedule), times.next().toISOString(), times.next().toISOString());
}
CODE
expect '"" 2026-01-01T00:01:00.000Z 2026-01-01T00:02:00.000Z
"* * *" 2026-01-01T00:01:00.000Z 2026-01-01T00:02:00.000Z'
