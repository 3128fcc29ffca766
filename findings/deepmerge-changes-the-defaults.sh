#!/usr/bin/env bash
# deepmerge 4.0.0 (PyPI)
# Behaviour: always_merger.merge({}, defaults) does not copy what it takes over: merging a second object into the result
#   appends to the lists in `defaults`, so that the third result has the second one's items.
# Expected: a result that shares nothing with its arguments but the first, as mergedeep 1.3.4 gives it.
# Matters: defaults of a pod template that are merged in each reconciliation grow: args and volumes of one object appear
#   in the next.
. "$(dirname "$0")/lib.sh"
pypi deepmerge==4.0.0 mergedeep==1.3.4

observe python - <<'CODE'
import mergedeep
from deepmerge import always_merger


def template(merge, defaults, spec):
    return merge(merge({}, defaults), spec)["spec"]["args"]


for merge in (always_merger.merge, lambda *each: mergedeep.merge(*each, strategy=mergedeep.Strategy.ADDITIVE)):
    defaults = {"spec": {"args": ["--quiet"]}}
    template(merge, defaults, {"spec": {"args": ["--zone=a"]}})
    print(template(merge, defaults, {"spec": {"args": ["--zone=b"]}}))
CODE
expect "['--quiet', '--zone=a', '--zone=b']
['--quiet', '--zone=b']"
