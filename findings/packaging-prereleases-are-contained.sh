#!/usr/bin/env bash
# packaging 26.4 (PyPI)
# Behaviour: SpecifierSet(">=1.36").contains("1.37.0-rc.1") is True, with the default for prereleases; in packaging 25.0
#   it is False. A text that is no version ("garbage") is False instead of an error.
# Expected: the answer of 25.0: prereleases match only if asked for.
# Matters: a controller or an operator bundle that states which servers it supports accepts release candidates after an
#   update of this package alone.
. "$(dirname "$0")/lib.sh"
program='
from packaging import __version__
from packaging.specifiers import SpecifierSet

print(__version__, SpecifierSet(">=1.36").contains("1.37.0-rc.1"))'
pypi packaging==25.0
first=$(python -c "$program")
pypi packaging==26.4

observe python -c "$program"
seen="$first $seen"
expect "25.0 False 26.4 True"
