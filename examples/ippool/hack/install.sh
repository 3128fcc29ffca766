#!/bin/sh
# Install a requirements file and check the hashes of clientgo's wheels: hack/install.sh FILE [OPTION OF PIP ...]
set -eu
cd "$(dirname "$0")/.."
if grep -q '^\./wheels/' requirements.txt; then
    if [ ! -f wheels/SHA256SUMS ]; then
        echo "error: wheels/ has no wheel of clientgo: run clientgo upgrade with --clientgo-from PATH or --index-url URL" >&2
        exit 1
    fi
    if command -v sha256sum >/dev/null; then sums=sha256sum; else sums='shasum -a 256'; fi
    (cd wheels && $sums --check --quiet SHA256SUMS)
fi
file=$1
shift
exec "${PYTHON:-python3}" -m pip install "$@" --requirement "$file"
