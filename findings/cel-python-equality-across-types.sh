#!/usr/bin/env bash
# cel-python 0.5.0 (PyPI)
# Behaviour: comparing a number with a text raises an error, and so does comparing an int with a double, although both
#   operands are dynamic. cel-expr-python 0.1.3 answers false and true.
# Expected: false for values of different types, and true for equal numbers, as the language defines since 2022.
# Matters: rules on int-or-string fields (`port == 80 || port == 'http'`) end with an error for one of the two forms.
. "$(dirname "$0")/lib.sh"
pypi cel-python==0.5.0 cel-expr-python==0.1.3

observe python - <<'CODE'
import celpy
from cel_expr_python import cel

for expression in ("dyn('http') == 80", "dyn(1) == 1.0"):
    environment = celpy.Environment()
    try:
        first = environment.program(environment.compile(expression)).evaluate({})
    except celpy.CELEvalError:
        first = "error"
    print(expression, first, cel.NewEnv(variables={}).compile(expression).eval().value())
CODE
expect "dyn('http') == 80 error False
dyn(1) == 1.0 error True"
