#!/usr/bin/env bash
# kopf 1.45.2 (PyPI)
# Behaviour: as a JSON patch, which kopf answers to admission requests, a null for the only member of an object removes
#   the object as well: emptyDir {medium: Memory} with medium null becomes "remove /spec/emptyDir". The same patch as a
#   merge patch, which kopf sends for other handlers, leaves emptyDir {}.
# Expected: one meaning for both forms: only the member is removed.
# Matters: an empty object is not an absent one: a volume without a source is rejected, and a selector {} matches all.
. "$(dirname "$0")/lib.sh"
pypi kopf==1.45.2

observe python - <<'CODE'
import kopf

patch = kopf.Patch()
patch.spec["emptyDir"] = {"medium": None}
print(patch.as_json_patch({"spec": {"emptyDir": {"medium": "Memory"}, "name": "v"}}))
CODE
expect "[{'op': 'remove', 'path': '/spec/emptyDir'}]"
