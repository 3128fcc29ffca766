#!/usr/bin/env bash
# cel-python 0.5.0 (PyPI)
# Behaviour: the macro map with a filter, `list.map(x, condition, result)`, raises a ValueError about unpacking.
# Expected: the mapped elements that meet the condition; the macro belongs to the language, not to an extension.
# Matters: rules that an API server accepts cannot be tried in Python, and the error does not name the macro.
. "$(dirname "$0")/lib.sh"
pypi cel-python==0.5.0

observe python - <<'CODE'
import celpy

environment = celpy.Environment()
program = environment.program(environment.compile("[1, 2, 3].map(x, x > 1, x * 2)"))
try:
    print(program.evaluate({}))
except Exception as error:
    print(type(error).__name__, error)
CODE
expect "ValueError too many values to unpack (expected 2)"
