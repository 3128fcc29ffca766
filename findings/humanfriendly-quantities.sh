#!/usr/bin/env bash
# humanfriendly 10.0 (PyPI)
# Behaviour: parse_size reads the suffixes of Kubernetes with another meaning: "1Gi" is 1000000000, whereas "1GiB" is
#   1073741824, and "100m" is 100000000. With binary=True "1G" is 1073741824.
# Expected: 1Gi as 1GiB, and an error for m, which is a thousandth in quantities.
# Matters: memory limits are 7 % too small without an error, and a CPU of 100m becomes 100 million.
. "$(dirname "$0")/lib.sh"
pypi humanfriendly==10.0

observe python - <<'CODE'
from humanfriendly import parse_size

for text in ("1Gi", "1GiB", "100m"):
    print(text, parse_size(text))
print("1G", parse_size("1G", binary=True))
CODE
expect "1Gi 1000000000
1GiB 1073741824
100m 100000000
1G 1073741824"
