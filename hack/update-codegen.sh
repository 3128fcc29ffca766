#!/usr/bin/env bash
set -euo pipefail && cd "$(dirname "${BASH_SOURCE[0]}")/.."
"${PYTHON:-python3}" -m hack.library_types && exec "${PYTHON:-python3}" -m clientgo.codegen --config hack/codegen.yaml "$@"
