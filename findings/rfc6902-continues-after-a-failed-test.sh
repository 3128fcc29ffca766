#!/usr/bin/env bash
# rfc6902 5.4.0 (npm)
# Behaviour: applyPatch throws nothing and goes on after a failed operation. The result of a test that fails is an
#   error in the returned list, and the operations after it change the document all the same.
# Expected: the patch is applied as a whole or not at all, as the RFC of the package's name requires.
# Matters: a test is the guard of optimistic patches, such as removing a finalizer at an index.
. "$(dirname "$0")/lib.sh"
npm_packages rfc6902@5.4.0

observe node --input-type=module - <<'CODE'
import { applyPatch } from "rfc6902";

const object = { finalizers: ["theirs", "ours"] };
const results = applyPatch(object, [
  { op: "test", path: "/finalizers/0", value: "ours" },
  { op: "remove", path: "/finalizers/0" },
]);
console.log(results.map((result) => result && result.name), JSON.stringify(object));
CODE
expect "[ 'TestError', null ] {\"finalizers\":[\"ours\"]}"
