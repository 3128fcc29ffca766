#!/usr/bin/env bash
# hypothesis-jsonschema 0.23.1 with hypothesis 6.170.17 (PyPI)
# Behaviour: no object can be generated: every schema of type object, and every schema without a type, raises
#   AttributeError about an attribute of a class of hypothesis. Numbers and texts are generated.
# Expected: the requirements of the package exclude this version, or the package works with it.
# Matters: objects of a CRD's schema cannot be made up for tests, and pip reports no conflict.
. "$(dirname "$0")/lib.sh"
pypi hypothesis-jsonschema==0.23.1 hypothesis==6.170.17

observe python -W ignore - <<'CODE'
from hypothesis import given, settings
from hypothesis_jsonschema import from_schema

for schema in ({"type": "integer"}, {"type": "object"}, {"x-kubernetes-int-or-string": True}):

    @settings(max_examples=50, database=None, derandomize=True)
    @given(from_schema(schema))
    def generate(value):
        pass

    try:
        generate()
        print("generated")
    except AttributeError as error:
        print(type(error).__name__, error)
CODE
expect "generated
AttributeError 'many' object has no attribute 'more'
AttributeError 'many' object has no attribute 'more'"
