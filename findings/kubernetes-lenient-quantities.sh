#!/usr/bin/env bash
# kubernetes 37.0.2 (PyPI)
# Behaviour: parse_quantity reads texts that are no quantities: "1K" and "1_000" are 1000, "1e3Mi" is a number, "NaN" is NaN.
# Expected: ValueError, as for other malformed texts: an API server rejects all four.
# Matters: a controller that checks a quantity with it accepts what the next write cannot store, and NaN compares false
#   with every limit.
. "$(dirname "$0")/lib.sh"
pypi kubernetes==37.0.2

observe python - <<'CODE'
from kubernetes.utils.quantity import parse_quantity

print(*(parse_quantity(text) for text in ("1K", "1_000", "1e3Mi", "NaN")))
CODE
expect "1000 1000 1.048576E+9 NaN"
