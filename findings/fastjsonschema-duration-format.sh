#!/usr/bin/env bash
# fastjsonschema 2.22.3 (PyPI)
# Behaviour: `format: duration` is checked without being asked for, and accepts "P1D" but not "1h30m". jsonschema 4.26.0
#   checks no format by default.
# Expected: unchecked, as in jsonschema: an API server accepts "1h30m" and "1d" for the format of a CRD.
# Matters: valid objects of a CRD are refused.
. "$(dirname "$0")/lib.sh"
pypi fastjsonschema==2.22.3 jsonschema==4.26.0

observe python - <<'CODE'
import fastjsonschema
from jsonschema import Draft202012Validator

schema = {"type": "string", "format": "duration"}
validate = fastjsonschema.compile(schema)
print(validate("P1D"), Draft202012Validator(schema).is_valid("1h30m"))
try:
    validate("1h30m")
except fastjsonschema.JsonSchemaValueException as error:
    print(error)
CODE
expect "P1D True
data must be duration"
