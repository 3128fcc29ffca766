#!/usr/bin/env bash
# jsonschema 4.26.0 (PyPI)
# Behaviour: 0.07 and 19.99 are no multiples of 0.01, whereas 1.1 is; fastjsonschema 2.22.3 accepts all three.
# Expected: all three are multiples, within the precision of floats; an API server accepts them, too.
# Matters: a check of manifests against a CRD's `multipleOf` refuses prices and ratios by chance.
. "$(dirname "$0")/lib.sh"
pypi jsonschema==4.26.0 fastjsonschema==2.22.3

observe python - <<'CODE'
import fastjsonschema
from jsonschema import Draft202012Validator

schema = {"type": "number", "multipleOf": 0.01}
validator, compiled = Draft202012Validator(schema), fastjsonschema.compile(schema)
for number in (0.07, 19.99, 1.1):
    print(number, validator.is_valid(number), compiled(number) == number)
CODE
expect "0.07 False True
19.99 False True
1.1 True True"
