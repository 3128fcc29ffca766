#!/usr/bin/env bash
# jsonpath-python 1.1.6 (PyPI)
# Behaviour: a negative index, a list of indices and a list of names give an empty result without an error.
#   jsonpath-ng 1.16.0 and kubectl's form of the same paths have the elements.
# Expected: the elements, or an error about what is not supported.
# Matters: "nothing found" is an answer that a controller acts on, for example the last condition of an object.
. "$(dirname "$0")/lib.sh"
pypi jsonpath-python==1.1.6 jsonpath-ng==1.16.0

observe python - <<'CODE'
import jsonpath
import jsonpath_ng

document = {"items": [{"name": "a", "phase": "Pending"}, {"name": "b", "phase": "Running"}]}
for path in ("$.items[1].name", "$.items[-1].name", "$.items[0,1].name", "$.items[0]['name','phase']"):
    print(path, jsonpath.JSONPath(path).parse(document), [each.value for each in jsonpath_ng.parse(path).find(document)])
CODE
expect "\$.items[1].name ['b'] ['b']
\$.items[-1].name [] ['b']
\$.items[0,1].name [] ['a', 'b']
\$.items[0]['name','phase'] [] ['a', 'Pending']"
