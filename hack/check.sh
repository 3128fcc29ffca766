#!/usr/bin/env bash
# Everything a change must pass; continuous integration runs nothing else. Expects the tools on PATH (make check).
set -euo pipefail
cd "$(dirname "$0")/.."

step() {
    echo "== $*" >&2
    "$@"
}

step ruff check
step ruff format --check
step mypy
step lint-imports --no-logo
step hack/verify-codegen.sh
step python -m hack.behaviours --quiet
step python -m hack.features --quiet
step hack/bandit.sh
# pytest ends with 5, a failure, when it finds no test at all.
step python -m pytest --cov --cov-report=term "$@"
