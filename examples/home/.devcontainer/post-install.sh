#!/usr/bin/env bash
# Installs the development tools.
set -euo pipefail
sh hack/install.sh requirements-dev.txt
