#!/usr/bin/env bash
# prometheus-client 0.26.0 (PyPI)
# Behaviour: observing NaN in a Histogram changes the sum to NaN for good, and is not counted: the count stays.
# Expected: it is refused, or counted in the bucket +Inf, as the client for Go does.
# Matters: one duration computed from a missing time makes every average of the series NaN until a restart, and the
#   count gives no hint.
. "$(dirname "$0")/lib.sh"
pypi prometheus-client==0.26.0

observe python - <<'CODE'
from prometheus_client import CollectorRegistry, Histogram

registry = CollectorRegistry()
histogram = Histogram("seconds", "Seconds", buckets=[1], registry=registry)
for value in (0.5, float("nan"), 0.5):
    histogram.observe(value)
print(*(registry.get_sample_value(f"seconds_{name}") for name in ("count", "sum")))
CODE
expect "2.0 nan"
