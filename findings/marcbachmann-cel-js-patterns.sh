#!/usr/bin/env bash
# @marcbachmann/cel-js 8.0.0 (npm)
# Behaviour: matches() takes the patterns of JavaScript: a lookahead and a back reference match, and the flags (?i) and
#   (?s) are an invalid regular expression. @bufbuild/cel 0.6.1 does the opposite in both cases.
# Expected: the patterns of RE2, which the language prescribes.
# Matters: a CRD with the one pattern is rejected although its rule passed a test, and the other cannot be tested.
. "$(dirname "$0")/lib.sh"
npm_packages @marcbachmann/cel-js@8.0.0 @bufbuild/cel@0.6.1

observe node --input-type=module - <<'CODE'
import { run } from "@bufbuild/cel";
import { evaluate } from "@marcbachmann/cel-js";

for (const expression of ["'web-a'.matches('^web-(?=a)')", "'aa'.matches('^(a)\\\\1$')", "'WEB'.matches('(?i)^web$')"]) {
  const answers = [evaluate, run].map((decide) => {
    try {
      const value = decide(expression);
      return value instanceof Error ? "error" : value;
    } catch {
      return "error";
    }
  });
  console.log(expression, ...answers);
}
CODE
expect "'web-a'.matches('^web-(?=a)') true error
'aa'.matches('^(a)\\\\1\$') true error
'WEB'.matches('(?i)^web\$') error true"
