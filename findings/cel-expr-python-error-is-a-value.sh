#!/usr/bin/env bash
# cel-expr-python 0.1.3 (PyPI)
# Behaviour: an expression that fails at run time (a key that is absent) raises nothing. eval() returns a value of type
#   ERROR, and its value() is the text of the error, which is true in an `if`.
# Expected: an exception, as from the other CEL packages for Python, or a value that is not true.
# Matters: a condition on an optional field of a custom resource counts as met for objects without the field.
. "$(dirname "$0")/lib.sh"
pypi cel-expr-python==0.1.3

observe python - <<'CODE'
from cel_expr_python import cel

program = cel.NewEnv(variables={"self": cel.Type.DYN}).compile("self.spec.replicas > 1")
result = program.eval(data={"self": {"spec": {}}})
print(result.type(), type(result.value()).__name__, bool(result.value()))
CODE
expect "ERROR str True"
