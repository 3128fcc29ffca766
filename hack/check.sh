#!/usr/bin/env bash
# Static checks: style, types, imports, generated code, parity, security. Expects the tools on PATH (make static).
set -euo pipefail
cd "$(dirname "$0")/.."

step() {
    echo "== $*" >&2
    "$@"
}

step ruff check
step ruff format --check
step mypy
step python -m hack.import_contracts
step hack/verify-codegen.sh
step python -m hack.parity --check
step hack/bandit.sh
step python -m benchmarks.start
