#!/usr/bin/env bash
# fast-json-patch 3.1.1 and rfc6902 5.4.0 (npm)
# Behaviour: for two Date objects the one makes a patch of 24 operations, one for each character, below the path of the
#   date; the other makes no operation: the change is lost.
# Expected: one operation that replaces the text of the date.
# Matters: @kubernetes/client-node reads timestamps as Date, so that differences of two objects are wrong or missing.
. "$(dirname "$0")/lib.sh"
npm_packages fast-json-patch@3.1.1 rfc6902@5.4.0

observe node --input-type=module - <<'CODE'
import patches from "fast-json-patch";
import { createPatch } from "rfc6902";

const [before, after] = [{ time: new Date(0) }, { time: new Date(1000) }];
const operations = patches.compare(before, after);
console.log(operations.length, JSON.stringify(operations[0]), createPatch(before, after).length);
CODE
expect '24 {"op":"add","path":"/time/0","value":"1"} 0'
