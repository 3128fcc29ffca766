#!/usr/bin/env bash
# kr8s 0.20.15 (PyPI)
# Behaviour: delete(grace_period=0) sends no grace period; grace_period=1 sends gracePeriodSeconds 1.
# Expected: gracePeriodSeconds 0, the value that deletes a Pod at once.
# Matters: a Pod on a node that is gone stays until somebody else deletes it.
. "$(dirname "$0")/lib.sh"
pypi kr8s==0.20.15

observe python - <<'CODE'
import json
from pathlib import Path

import kr8s
from fakeserver import Server
from kr8s.objects import ConfigMap

server = Server()
Path("kubeconfig").write_text(json.dumps(server.kubeconfig({"token": "t"})))
api = kr8s.api(kubeconfig="kubeconfig")
server.store("/api/v1/namespaces/default/configmaps/a", {"metadata": {"name": "a", "namespace": "default"}})
for seconds in (0, 1):
    ConfigMap({"metadata": {"name": "a", "namespace": "default"}}, api=api).delete(grace_period=seconds)
    print(seconds, server.requests[-1].body, server.requests[-1].query)
CODE
expect "0 {} {}
1 {'gracePeriodSeconds': 1} {}"
