#!/usr/bin/env bash
# cel-python 0.5.0 (PyPI)
# Behaviour: duration('1d'), int('0x10') and int('1_000') convert: 86400 seconds, 16 and 1000.
# Expected: three errors, as from cel-expr-python 0.1.3: durations end at hours, and int() reads decimal digits.
# Matters: a rule that passes in a test in Python fails on the API server.
. "$(dirname "$0")/lib.sh"
pypi cel-python==0.5.0 cel-expr-python==0.1.3

observe python - <<'CODE'
import celpy
from cel_expr_python import cel

for expression in ("duration('1d') == duration('24h')", "int('0x10')", "int('1_000')"):
    environment = celpy.Environment()
    value = environment.program(environment.compile(expression)).evaluate({})
    print(expression, value, cel.NewEnv(variables={}).compile(expression).eval().type())
CODE
expect "duration('1d') == duration('24h') True ERROR
int('0x10') 16 ERROR
int('1_000') 1000 ERROR"
