#!/usr/bin/env bash
# cel-js 0.8.2 (npm)
# Behaviour: integers are JavaScript numbers: 7 / 2 is 3.5, and 9223372036854775807 + 1 is a rounded number.
# Expected: 3, and an overflow error: int is a type of 64 bits with a division that truncates.
# Matters: a rule on replicas such as `ready >= desired / 2` decides differently for odd numbers than on an API server.
. "$(dirname "$0")/lib.sh"
npm_packages cel-js@0.8.2

observe node --input-type=module - <<'CODE'
import { evaluate } from "cel-js";

console.log(evaluate("7 / 2"), evaluate("9223372036854775807 + 1"));
CODE
expect "3.5 9223372036854776000"
