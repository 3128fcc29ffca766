#!/usr/bin/env bash
# @bufbuild/cel 0.6.1 and @marcbachmann/cel-js 8.0.0 (npm)
# Behaviour: whole numbers of a JSON object are doubles: `self.replicas == 3` and `self.replicas > 2` are true, but
#   `self.replicas + 1`, `self.replicas % 2` and `self.items[self.replicas - 1]` have no overload, and
#   `type(self.replicas) == int` is false.
# Expected: an int, as in the CEL packages for Python, which is what the schema of a CRD makes of it.
# Matters: simple rules of a CRD work, so the package seems fit for rules; each rule that computes with an integer fails.
. "$(dirname "$0")/lib.sh"
npm_packages @bufbuild/cel@0.6.1 @marcbachmann/cel-js@8.0.0

observe node --input-type=module - <<'CODE'
import { run } from "@bufbuild/cel";
import { evaluate } from "@marcbachmann/cel-js";

const context = { self: { replicas: 3 } };
for (const expression of ["self.replicas == 3", "self.replicas > 2", "self.replicas + 1 == 4", "type(self.replicas) == int"]) {
  const answers = [run, evaluate].map((decide) => {
    try {
      const value = decide(expression, context);
      return value instanceof Error ? "error" : value;
    } catch {
      return "error";
    }
  });
  console.log(expression, ...answers);
}
CODE
expect "self.replicas == 3 true true
self.replicas > 2 true true
self.replicas + 1 == 4 error error
type(self.replicas) == int false false"
