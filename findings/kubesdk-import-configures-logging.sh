#!/usr/bin/env bash
# kubesdk 0.3.4 with kube-models 0.6.0 (PyPI)
# Behaviour: importing the package adds a handler to the root logger and sets its level to INFO. logging.basicConfig()
#   after the import then does nothing: neither its level nor its format counts.
# Expected: the import leaves the root logger alone; without a handler Python's own last resort prints warnings.
# Matters: an operator whose imports come first, as usual, never logs DEBUG, and its format for log collectors is lost.
. "$(dirname "$0")/lib.sh"
pypi kubesdk==0.3.4 kube-models==0.6.0

observe python - <<'CODE'
import logging
import sys

print(len(logging.getLogger().handlers), logging.getLogger().level)
import kubesdk

logging.basicConfig(level=logging.DEBUG, format="json: %(message)s", stream=sys.stdout)
print(len(logging.getLogger().handlers), logging.getLogger().level)
logging.info("lost in stdout")
CODE
expect "0 30
1 20"
