#!/usr/bin/env bash
# cel-python 0.5.0 (PyPI)
# Behaviour: a line break inside a triple-quoted literal is lost: the text a, line break, b has the size 2.
# Expected: 3, as in cel-expr-python 0.1.3.
# Matters: messages and expected values over several lines in a rule compare as different texts.
. "$(dirname "$0")/lib.sh"
pypi cel-python==0.5.0 cel-expr-python==0.1.3

observe python - <<'CODE'
import celpy
from cel_expr_python import cel

expression = 'size("""a\nb""")'
environment = celpy.Environment()
print(environment.program(environment.compile(expression)).evaluate({}))
print(cel.NewEnv(variables={}).compile(expression).eval().value())
CODE
expect "2
3"
