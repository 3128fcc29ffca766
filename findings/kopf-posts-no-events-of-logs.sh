#!/usr/bin/env bash
# kopf 1.45.2 (PyPI)
# Behaviour: what a handler logs, and that it fails for good, is not posted as an Event: settings.posting.enabled is
#   True, but settings.posting.loggers is False. In kopf 1.37.5 there is no such setting, and log lines are posted.
# Expected: Events as in older versions, which the documentation of many operators promises to users.
# Matters: after an update `kubectl describe` no longer shows why an object is not ready.
. "$(dirname "$0")/lib.sh"
program='
import kopf

posting = kopf.OperatorSettings().posting
print(posting.enabled, getattr(posting, "loggers", "absent"))'
pypi kopf==1.37.5
first=$(python -c "$program")
pypi kopf==1.45.2

observe python -c "$program"
seen="$first, $seen"
expect "True absent, True False"
