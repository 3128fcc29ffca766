#!/usr/bin/env bash
# fast-json-patch 3.1.1 (npm)
# Behaviour: applyPatch puts the values of the patch into the document without a copy. A later operation of the same
#   patch then changes the value inside the patch, and applying the patch a second time appends twice.
# Expected: the same patch gives the same result each time it is applied.
# Matters: patches are applied again after a conflict; the second attempt writes another object.
. "$(dirname "$0")/lib.sh"
npm_packages fast-json-patch@3.1.1

observe node --input-type=module - <<'CODE'
import patches from "fast-json-patch";

const patch = [
  { op: "add", path: "/spec", value: { args: ["a"] } },
  { op: "add", path: "/spec/args/-", value: "b" },
];
for (const attempt of [1, 2]) {
  console.log(attempt, JSON.stringify(patches.applyPatch({}, patch).newDocument));
}
CODE
expect '1 {"spec":{"args":["a","b"]}}
2 {"spec":{"args":["a","b","b"]}}'
