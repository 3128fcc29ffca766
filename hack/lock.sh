#!/usr/bin/env bash
# Lock the image's packages: hack/lock.sh [uv's options, such as --upgrade]
#
# hack/requirements.lock contains the controller's run-time packages, hack/requirements-build.lock the build tools of its
# wheel. Both list every file of each release with its SHA-256, for every platform. Locked versions stay unless setup.cfg
# forbids them or --upgrade is given.
#
# The environment selects the package index: UV_INDEX_URL for uv, PIP_INDEX_URL for pip.
set -euo pipefail
cd "$(dirname "$0")/.."

compile=(uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate
    --custom-compile-command "make lock" "$@")

"${compile[@]}" --extra secure-serving --extra auth-providers --output-file hack/requirements.lock setup.cfg
"${compile[@]}" --output-file hack/requirements-build.lock hack/requirements-build.in
