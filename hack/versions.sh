#!/usr/bin/env bash
# Tests of the sample, the examples and a scaffold on the bundled server of each supported version: make test-versions.
# Arguments are those of pytest. Each run has its own server, by the variable that servers read their version from.
set -euo pipefail
cd "$(dirname "$0")/.."

versions=$(python -c 'from clientgo.version import KUBERNETES_VERSIONS; print(*KUBERNETES_VERSIONS)')
failed=""
for version in $versions; do
    echo "== Kubernetes $version" >&2
    KUBERNETES_VERSION=$version python -m pytest -q tests/e2e tests/controller tests/cli/test_examples.py \
        tests/cli/test_from_empty_folder.py "$@" || failed="$failed $version"
done
[[ -z $failed ]] || { echo "failed on Kubernetes$failed" >&2; exit 1; }
