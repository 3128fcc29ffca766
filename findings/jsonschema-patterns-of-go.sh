#!/usr/bin/env bash
# jsonschema 4.26.0 and fastjsonschema 2.22.3 (PyPI)
# Behaviour: a pattern with a character class such as [[:alpha:]] is accepted in a schema, and then matches no letter;
#   fastjsonschema refuses the letter, too. A pattern with \p{L} is an error about the schema.
# Expected: an error for both, since Python's expressions know neither; in a CRD both are valid and match letters.
# Matters: a check against a CRD's schema refuses every valid value of the field.
. "$(dirname "$0")/lib.sh"
pypi jsonschema==4.26.0 fastjsonschema==2.22.3

observe python -W ignore - <<'CODE'
import fastjsonschema
import jsonschema

for pattern in ("^[[:alpha:]]+$", r"^\p{L}+$"):
    schema = {"type": "string", "pattern": pattern}
    for validate in (lambda text: jsonschema.validate(text, schema), fastjsonschema.compile):
        try:
            validate(schema)("abc") if validate is fastjsonschema.compile else validate("abc")
        except Exception as error:
            print(pattern, type(error).__name__)
CODE
expect '^[[:alpha:]]+$ ValidationError
^[[:alpha:]]+$ JsonSchemaValueException
^\p{L}+$ SchemaError
^\p{L}+$ error'
