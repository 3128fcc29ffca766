#!/usr/bin/env bash
# Locks what the image is made of: hack/lock.sh [uv's options, such as --upgrade]
#
# hack/requirements.lock is what the controller needs at run time, hack/requirements-build.lock what its wheel is built
# with. Every file of each release stands there with its SHA-256, for every platform, so an image holds what was locked
# or is not built. What is locked already stays at its version unless setup.cfg forbids it or --upgrade is said.
#
# Which package index is asked is not written down: uv takes UV_INDEX_URL, as pip takes PIP_INDEX_URL.
set -euo pipefail
cd "$(dirname "$0")/.."

compile=(uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate
    --custom-compile-command "make lock" "$@")

"${compile[@]}" --extra secure-serving --output-file hack/requirements.lock setup.cfg
"${compile[@]}" --output-file hack/requirements-build.lock hack/requirements-build.in
