#!/usr/bin/env bash
# Fails, and shows the difference, when generated files are not what hack/update-codegen.sh would write.
set -euo pipefail
exec "$(dirname "${BASH_SOURCE[0]}")/update-codegen.sh" --verify
