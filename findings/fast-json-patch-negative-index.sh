#!/usr/bin/env bash
# fast-json-patch 3.1.1 (npm)
# Behaviour: adding at index -1 of a list succeeds and adds nothing that JSON shows, and adding at index 5 of a list of
#   one element appends. With validation, the third argument, both throw.
# Expected: an error by default: RFC 6902 knows no negative index, and an index may not be greater than the length.
# Matters: a lost element is not noticed. kubectl and the API server append at -1 and reject an index out of range.
. "$(dirname "$0")/lib.sh"
npm_packages fast-json-patch@3.1.1

observe node --input-type=module - <<'CODE'
import patches from "fast-json-patch";

for (const index of [-1, 5]) {
  const operation = { op: "add", path: `/${index}`, value: "new" };
  console.log(index, JSON.stringify(patches.applyPatch(["old"], [operation]).newDocument));
}
CODE
expect '-1 ["old"]
5 ["old","new"]'
