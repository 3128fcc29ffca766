#!/usr/bin/env bash
# durationpy 0.11 (PyPI)
# Behaviour: it reads "1d" and "1h 30m", which Go refuses, and writes 0 as "0" and 1.5 ms as "1ms500us".
# Expected: the texts of Go's time.Duration, which it names as its purpose: errors, "0s" and "1.5ms".
# Matters: durations of custom resources (metav1.Duration) pass here and fail in a controller in Go, and texts that both
#   write differ, so that each undoes the other's change.
. "$(dirname "$0")/lib.sh"
pypi durationpy==0.11

observe python - <<'CODE'
from datetime import timedelta

import durationpy

print(durationpy.from_str("1d"), durationpy.from_str("1h 30m"))
print(durationpy.to_str(timedelta()), durationpy.to_str(timedelta(microseconds=1500)))
CODE
expect "1 day, 0:00:00 1:30:00
0 1ms500us"
