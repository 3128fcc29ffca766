#!/usr/bin/env bash
# Installs the development tools.
set -euo pipefail
python -m pip install --requirement requirements-dev.txt
