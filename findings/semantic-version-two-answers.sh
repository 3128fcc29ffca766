#!/usr/bin/env bash
# semantic-version 2.10.0 (PyPI)
# Behaviour: the two kinds of ranges of the package disagree about a server version with a vendor's suffix: 1.36.2-gke.1
#   is in SimpleSpec(">=1.29.0") and not in SimpleSpec("<1.36.2"); NpmSpec gives the opposite answers. A version with a
#   build, 1.36.2+k3s1, is neither equal to 1.36.2 nor before nor after it.
# Expected: one rule for prereleases, and a build that does not matter, as in semver 3.1.2.
# Matters: a check of the server's version passes or fails by the class that is used, and versions cannot be sorted.
. "$(dirname "$0")/lib.sh"
pypi semantic-version==2.10.0 semver==3.1.2

observe python - <<'CODE'
import semver
from semantic_version import NpmSpec, SimpleSpec, Version

vendor = Version("1.36.2-gke.1")
for spec in (SimpleSpec, NpmSpec):
    print(spec.__name__, vendor in spec(">=1.29.0"), vendor in spec("<1.36.2"))
build, plain = Version("1.36.2+k3s1"), Version("1.36.2")
print(build == plain, build < plain, build > plain)
print(semver.Version.parse("1.36.2+k3s1") == semver.Version.parse("1.36.2"))
CODE
expect "SimpleSpec True False
NpmSpec False True
False False False
True"
