#!/usr/bin/env bash
# lightkube 1.0.1 (PyPI)
# Behaviour: parse_quantity refuses "156340n", "2u" and "1E3" with a ValueError, and reads "1m" and "1e3".
# Expected: the suffixes n and u and the capital exponent are read; all are quantities of Kubernetes.
# Matters: the metrics API reports CPU in n; a controller that sums usage with this function raises on real data.
. "$(dirname "$0")/lib.sh"
pypi lightkube==1.0.1

observe python - <<'CODE'
from lightkube.utils.quantity import parse_quantity

for text in ("156340n", "2u", "1E3", "1m", "1e3"):
    try:
        print(text, parse_quantity(text))
    except ValueError as error:
        print(text, type(error).__name__)
CODE
expect "156340n ValueError
2u ValueError
1E3 ValueError
1m 0.001
1e3 1000.000"
