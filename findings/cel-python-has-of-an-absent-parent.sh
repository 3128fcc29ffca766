#!/usr/bin/env bash
# cel-python 0.5.0 (PyPI) and cel-js 0.8.2 (npm)
# Behaviour: has() of a member whose parent is absent is false: has(self.tls.secret) for an object without tls. In
#   cel-python a null parent and an index out of range are false, too. cel-expr-python 0.1.3 raises "no such key".
# Expected: an error: only the last step of the path is tested, which is why rules write has(self.tls) first.
# Matters: a rule without the first test passes here, and then an API server rejects every object without the parent.
. "$(dirname "$0")/lib.sh"
pypi cel-python==0.5.0 cel-expr-python==0.1.3
npm_packages cel-js@0.8.2

cat >evaluate.py <<'CODE'
import celpy
from cel_expr_python import cel

expression, document = "has(self.tls.secret)", {"replicas": 1}
environment = celpy.Environment()
program = environment.program(environment.compile(expression))
print(program.evaluate({"self": celpy.json_to_cel(document)}))
print(program.evaluate({"self": celpy.json_to_cel({"tls": None})}))
print(cel.NewEnv(variables={"self": cel.Type.DYN}).compile(expression).eval(data={"self": document}).type())
CODE
cat >evaluate.mjs <<'CODE'
import { evaluate } from "cel-js";

console.log(evaluate("has(self.tls.secret)", { self: { replicas: 1 } }));
CODE

observe bash -c "python evaluate.py && node evaluate.mjs"
expect "False
False
ERROR
false"
