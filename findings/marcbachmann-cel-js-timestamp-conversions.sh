#!/usr/bin/env bash
# @marcbachmann/cel-js 8.0.0 (npm)
# Behaviour: timestamp() works, but string(timestamp) and int(timestamp) have no overload and raise an error.
# Expected: the RFC 3339 text and the seconds since 1970; both conversions are standard definitions of the language.
# Matters: rules that compare times as seconds, or put a time into a message, cannot be evaluated.
. "$(dirname "$0")/lib.sh"
npm_packages @marcbachmann/cel-js@8.0.0

observe node --input-type=module - <<'CODE'
import { evaluate } from "@marcbachmann/cel-js";

const time = "timestamp('2024-01-01T00:00:00Z')";
for (const expression of [`${time}.getFullYear()`, `string(${time})`, `int(${time})`]) {
  try {
    console.log(String(evaluate(expression)));
  } catch (error) {
    console.log(error.message.includes("no matching overload") ? "no overload" : error.message);
  }
}
CODE
expect "2024
no overload
no overload"
