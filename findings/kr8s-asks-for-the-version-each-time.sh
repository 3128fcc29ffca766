#!/usr/bin/env bash
# kr8s 0.20.15 (PyPI)
# Behaviour: kr8s.get(), the class methods such as ConfigMap.get(), and each new object send GET /version before their
#   own request. Only methods of an API object that is kept, kr8s.api(), do not.
# Expected: once, when the client is created, since the client is cached.
# Matters: an operator sends twice the requests, and each call waits for two answers; a client without the right to read
#   /version cannot make any.
. "$(dirname "$0")/lib.sh"
pypi kr8s==0.20.15

observe python - <<'CODE'
import json
import os
from pathlib import Path

from fakeserver import Server

server = Server()
Path("kubeconfig").write_text(json.dumps(server.kubeconfig({"token": "t"})))
server.store("/api/v1/namespaces/default/configmaps/a", {"metadata": {"name": "a", "namespace": "default"}})
os.environ["KUBECONFIG"] = "kubeconfig"

import kr8s
from kr8s.objects import ConfigMap

api = kr8s.api()
list(api.get("configmaps"))
for name, call in (
    ("kr8s.get", lambda: list(kr8s.get("configmaps"))),
    ("ConfigMap.get", lambda: ConfigMap.get("a")),
    ("ConfigMap", lambda: ConfigMap({"metadata": {"name": "a"}}).exists()),
    ("api.get", lambda: list(api.get("configmaps"))),
):
    before = len(server.requests)
    for _ in range(3):
        call()
    paths = [request.path for request in server.requests[before:]]
    print(name, paths.count("/version/"), len(paths))
CODE
expect "kr8s.get 3 6
ConfigMap.get 3 6
ConfigMap 3 6
api.get 0 3"
