#!/usr/bin/env bash
# openapi-schema-validator 0.9.0 (PyPI)
# Behaviour: OAS30Validator refuses 1.0 for `type: integer`. The OAS31Validator and jsonschema 4.26.0 accept it.
# Expected: accepted: JSON has one type of numbers, and an API server accepts 1.0 for an integer of a CRD.
# Matters: manifests that a server takes fail in a check against the CRD's own schema.
. "$(dirname "$0")/lib.sh"
pypi openapi-schema-validator==0.9.0 jsonschema==4.26.0

observe python - <<'CODE'
from jsonschema import Draft202012Validator
from openapi_schema_validator import OAS30Validator, OAS31Validator

for validator in (OAS30Validator, OAS31Validator, Draft202012Validator):
    print(validator.__name__, validator({"type": "integer"}).is_valid(1.0))
CODE
expect "OAS30Validator False
OAS31Validator True
Draft202012Validator True"
