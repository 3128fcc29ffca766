#!/usr/bin/env bash
# Run the unit tests on every Python >= 3.11 found on PATH: hack/pythons.sh [pytest arguments]
#
# Each interpreter has its own virtual environment, .venv-X.Y. Exits with 0 only if the tests pass on all of them.
set -euo pipefail
cd "$(dirname "$0")/.."

found=() failed=()
for minor in 11 12 13 14 15; do
    if "python3.$minor" -c '' 2>/dev/null; then found+=("3.$minor"); fi
done
if [ ${#found[@]} = 0 ]; then
    echo "error: no python3.11 or newer on PATH" >&2
    exit 1
fi

for version in "${found[@]}"; do
    echo "== Python $version" >&2
    make --no-print-directory unit PYTHON="python$version" VENV=".venv-$version" ARGS="$*" || failed+=("$version")
done
echo "unit tests: passed on $((${#found[@]} - ${#failed[@]})) of ${#found[@]} interpreters (${found[*]})"
if [ ${#failed[@]} != 0 ]; then
    echo "error: failed on Python ${failed[*]}" >&2
    exit 1
fi
