#!/usr/bin/env bash
# fastjsonschema 2.22.3 (PyPI)
# Behaviour: `exclusiveMinimum: true`, the form of OpenAPI 3.0 and so of CRDs, is compiled as a limit of the value true:
#   1 is refused ("bigger than True") although the minimum is 0; 2 passes.
# Expected: an error about the schema, as from jsonschema 4.26.0, or the meaning of OpenAPI.
# Matters: schemas of CRDs seem to work with it, and refuse one valid value.
. "$(dirname "$0")/lib.sh"
pypi fastjsonschema==2.22.3 jsonschema==4.26.0

observe python - <<'CODE'
import fastjsonschema
import jsonschema

schema = {"type": "integer", "minimum": 0, "exclusiveMinimum": True}
validate = fastjsonschema.compile(schema)
print(validate(2))
try:
    validate(1)
except fastjsonschema.JsonSchemaValueException as error:
    print(error)
try:
    jsonschema.validate(1, schema)
except jsonschema.SchemaError as error:
    print(type(error).__name__)
CODE
expect "2
data must be bigger than True
SchemaError"
