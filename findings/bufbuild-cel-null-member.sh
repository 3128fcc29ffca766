#!/usr/bin/env bash
# @bufbuild/cel 0.6.1 (npm)
# Behaviour: a key whose value is null is not in the map: both `'a' in m` and has(m.a) are false for {"a": null}.
# Expected: true, as in cel-go and both CEL packages for Python: the key exists.
# Matters: JSON objects have null members; a rule that tells null from absent takes the wrong branch.
. "$(dirname "$0")/lib.sh"
npm_packages @bufbuild/cel@0.6.1

observe node --input-type=module - <<'CODE'
import { run } from "@bufbuild/cel";

for (const expression of ["'a' in {'a': null}", "has({'a': null}.a)", "'a' in {'a': 1}"]) {
  console.log(expression, run(expression));
}
CODE
expect "'a' in {'a': null} false
has({'a': null}.a) false
'a' in {'a': 1} true"
