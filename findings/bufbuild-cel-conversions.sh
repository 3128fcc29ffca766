#!/usr/bin/env bash
# @bufbuild/cel 0.6.1 (npm)
# Behaviour: texts that are no numbers convert: int('') is 0, double('') is 0 and double('abc') is NaN. February 30 is a
#   timestamp in March. int('abc') is an error.
# Expected: errors for all five, as on an API server.
# Matters: an empty or malformed field passes a rule such as `double(self.ratio) >= 0.0`, and a comparison with NaN is
#   false without an error.
. "$(dirname "$0")/lib.sh"
npm_packages @bufbuild/cel@0.6.1

observe node --input-type=module - <<'CODE'
import { run } from "@bufbuild/cel";

for (const expression of [
  "int('')",
  "double('')",
  "double('abc')",
  "timestamp('2024-02-30T00:00:00Z') == timestamp('2024-03-01T00:00:00Z')",
  "int('abc')",
]) {
  try {
    const value = run(expression);
    console.log(expression, value instanceof Error ? "error" : value);
  } catch {
    console.log(expression, "error");
  }
}
CODE
expect "int('') 0n
double('') 0
double('abc') NaN
timestamp('2024-02-30T00:00:00Z') == timestamp('2024-03-01T00:00:00Z') true
int('abc') error"
