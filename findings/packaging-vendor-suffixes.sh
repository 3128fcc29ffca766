#!/usr/bin/env bash
# packaging 26.4 (PyPI)
# Behaviour: server versions with a vendor's suffix are errors ("v1.36.2-gke.1234") or get another meaning: "-1234" and
#   "-r1" are post releases, later than 1.36.2, and "-c1" is a release candidate, earlier than it.
# Expected: an error for all of them; in Kubernetes' versions all are prereleases of semantic versioning.
# Matters: comparing the version that a server reports decides by the letters of the vendor's suffix.
. "$(dirname "$0")/lib.sh"
pypi packaging==26.4

observe python - <<'CODE'
from packaging.version import InvalidVersion, Version

for suffix in ("-1234", "-r1", "-c1", "-gke.1234"):
    try:
        print(suffix, Version(f"v1.36.2{suffix}") > Version("v1.36.2"))
    except InvalidVersion as error:
        print(suffix, type(error).__name__)
CODE
expect "-1234 True
-r1 True
-c1 False
-gke.1234 InvalidVersion"
