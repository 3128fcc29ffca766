#!/usr/bin/env bash
# Writes everything that is generated: the built-in kinds, Foo's clients and CRD. With --verify it writes nothing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
python="${PYTHON:-python3}"
if ! "$python" -c 'import importlib.util, sys; sys.exit(not all(map(importlib.util.find_spec, sys.argv[1:])))' \
    kubernetes msgspec yaml; then
    echo "$python lacks what the generator needs: install the project into it, or name another with PYTHON=" >&2
    exit 1
fi
common=(--header hack/boilerplate.py.txt "$@")

failed=0
"$python" -m clientgo.codegen.builtin "${common[@]}" || failed=1
"$python" -m clientgo.codegen --input controller.api.v1alpha1 --output-package generated \
    --crd-dir artifacts/crd "${common[@]}" || failed=1
exit "$failed"
