#!/usr/bin/env bash
# openapi-schema-validator 0.9.0 (PyPI)
# Behaviour: OAS30Validator refuses 1.0 for `type: integer`. Its OAS31Validator accepts it, and so does jsonschema.
# Expected: accepted: JSON has one type of numbers, and an API server accepts 1.0 for an integer of a CRD.
# Matters: manifests that a server takes fail in a check against the CRD's own schema.
. "$(dirname "$0")/lib.sh"
pypi openapi-schema-validator==0.9.0

observe python - <<'CODE'
from openapi_schema_validator import OAS30Validator, OAS31Validator

print(*(validator({"type": "integer"}).is_valid(1.0) for validator in (OAS30Validator, OAS31Validator)))
CODE
expect "False True"
