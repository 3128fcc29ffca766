#!/usr/bin/env bash
# datamodel-code-generator 0.89.0 with pydantic 2.14.4 (PyPI)
# Behaviour: a field with an enum and a default gets an Enum class, but its default is a plain text: for an object
#   without the field, `spec.mode == Mode.A` is False and `spec.mode` is 'A'; with the field it is True.
# Expected: the member of the Enum in both cases (an option of the generator does that, which is off by default).
# Matters: a controller with models of a CRD decides differently for a default than for the same value written out.
. "$(dirname "$0")/lib.sh"
pypi datamodel-code-generator==0.89.0 pydantic==2.14.4

cat >schema.json <<'CODE'
{"title": "Spec", "type": "object", "properties": {"mode": {"type": "string", "enum": ["A", "B"], "default": "A"}}}
CODE
datamodel-codegen --input schema.json --input-file-type jsonschema --output-model-type pydantic_v2.BaseModel \
    --output models.py 2>codegen.log || not_run codegen.log

observe env PYTHONPATH=. python - <<'CODE'
from models import Mode, Spec

for spec in (Spec(), Spec(mode="A")):
    print(repr(spec.mode), spec.mode == Mode.A)
CODE
expect "'A' False
<Mode.A: 'A'> True"
