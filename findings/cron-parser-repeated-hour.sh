#!/usr/bin/env bash
# cron-parser 5.10.5 (npm)
# Behaviour: on the night when clocks go back, "*/30 1 * * *" in New York has two runs, in the first of the two hours
#   between 1 and 2; croner 11.0.0 has four. "0 * * * *" runs in both hours.
# Expected: four, the same rule for both schedules.
# Matters: a CronJob has four runs that night; work that repeats within an hour pauses for an hour.
. "$(dirname "$0")/lib.sh"
npm_packages cron-parser@5.10.5 croner@11.0.0

observe node --input-type=module - <<'CODE'
import { CronExpressionParser } from "cron-parser";
import { Cron } from "croner";

const [tz, start] = ["America/New_York", new Date("2026-11-01T04:00:00Z")];
const before = (time) => time < new Date("2026-11-02T00:00:00Z");
const first = CronExpressionParser.parse("*/30 1 * * *", { currentDate: start, tz });
console.log(first.take(6).map((time) => time.toDate()).filter(before).length);
console.log(new Cron("*/30 1 * * *", { timezone: tz, paused: true }).nextRuns(6, start).filter(before).length);
CODE
expect "2
4"
