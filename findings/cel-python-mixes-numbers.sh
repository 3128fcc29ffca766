#!/usr/bin/env bash
# cel-python 0.5.0 (PyPI)
# Behaviour: arithmetic with an int and a double, or an int and a uint, gives a result: 0.75 + 1 is 1.75, and 3 + 1u is
#   4. true == 1 is true. Comparing 3 with 2.5 raises, although both operands are dynamic.
# Expected: the reverse: no overload for the arithmetic, an answer for the comparison (cel-expr-python 0.1.3), and false
#   for a bool and a number.
# Matters: `self.ratio * 2 > 1.0` passes a test in Python; on an API server its evaluation fails for every object.
. "$(dirname "$0")/lib.sh"
pypi cel-python==0.5.0 cel-expr-python==0.1.3

observe python - <<'CODE'
import celpy
from cel_expr_python import cel

document = {"ratio": 0.75, "replicas": 3, "flag": True}
for expression in ("self.ratio + 1", "self.replicas + 1u", "self.flag == 1", "self.replicas > 2.5"):
    environment = celpy.Environment()
    try:
        value = environment.program(environment.compile(expression)).evaluate({"self": celpy.json_to_cel(document)})
    except celpy.CELEvalError as error:
        value = type(error).__name__
    result = cel.NewEnv(variables={"self": cel.Type.DYN}).compile(expression).eval(data={"self": document})
    print(expression, value, result.type() if "ERROR" in str(result.type()) else result.value())
CODE
expect "self.ratio + 1 1.75 ERROR
self.replicas + 1u 4 ERROR
self.flag == 1 True False
self.replicas > 2.5 CELEvalError True"
