#!/usr/bin/env bash
# PyYAML 6.0.4 and ruamel.yaml 0.19.1 (PyPI)
# Behaviour: a plain = is an error ("could not determine a constructor") in PyYAML's safe_load. ruamel.yaml reads it in
#   its default mode as an object that equals no text and cannot be written as JSON. ryaml 0.5.1 reads the text.
# Expected: the text =, as in kubectl.
# Matters: CRDs with operators of label matchers list it in an enum (= != =~ !~), so the whole file cannot be loaded.
. "$(dirname "$0")/lib.sh"
pypi PyYAML==6.0.4 ruamel.yaml==0.19.1 ryaml==0.5.1

observe python - <<'CODE'
import ryaml
import yaml
from ruamel.yaml import YAML

text = "enum:\n- '!='\n- =\n- =~\n"
try:
    print(yaml.safe_load(text))
except yaml.YAMLError as error:
    print(type(error).__name__)
value = YAML().load(text)["enum"][1]
print(type(value).__name__, value == "=")
print(ryaml.loads(text))
CODE
expect "ConstructorError
TaggedScalar False
{'enum': ['!=', '=', '=~']}"
