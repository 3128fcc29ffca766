#!/usr/bin/env bash
# json-merge-patch 0.3.0 and dictdiffer 0.10.0 (PyPI)
# Behaviour: neither sees a difference between 1 and true, nor between 0 and false; jsonpatch 1.48 does.
# Expected: a patch, since they are different values of JSON.
# Matters: a field of type int-or-string or of an unknown schema stays at its old value, and the comparison with the
#   desired state says that nothing is left to do.
. "$(dirname "$0")/lib.sh"
pypi json-merge-patch==0.3.0 dictdiffer==0.10.0 jsonpatch==1.48

observe python - <<'CODE'
import dictdiffer
import json_merge_patch
import jsonpatch

before, after = {"value": 1}, {"value": True}
print(dict(json_merge_patch.create_patch(before, after)), list(dictdiffer.diff(before, after)))
print(jsonpatch.make_patch(before, after))
CODE
expect '{} []
[{"op": "replace", "path": "/value", "value": true}]'
