#!/usr/bin/env bash
# common-expression-language 0.10.0 (PyPI)
# Behaviour: `[0, 1].exists(x, 1/x == 1)` raises ZeroDivisionError, whereas `[1, 0].exists(...)` is True: an error at an
#   earlier element is not outweighed by a later element that decides. `1/0 == 1 || true` is True.
# Expected: true for both: exists is a chain of || (and all of &&), in which an error gives way to a decisive operand.
# Matters: the answer depends on the order of a list, and differs from an API server's.
. "$(dirname "$0")/lib.sh"
pypi common-expression-language==0.10.0

observe python - <<'CODE'
import cel

for expression in ("[1, 0].exists(x, 1/x == 1)", "[0, 1].exists(x, 1/x == 1)", "1/0 == 1 || true"):
    try:
        print(expression, cel.evaluate(expression, {}))
    except ZeroDivisionError as error:
        print(expression, type(error).__name__)
CODE
expect "[1, 0].exists(x, 1/x == 1) True
[0, 1].exists(x, 1/x == 1) ZeroDivisionError
1/0 == 1 || true True"
