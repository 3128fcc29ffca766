#!/usr/bin/env bash
# What the project is developed with.
set -euo pipefail
python -m pip install --requirement requirements-dev.txt
