#!/usr/bin/env bash
# kopf 1.45.2 (PyPI)
# Behaviour: after a create handler returns, kopf first marks the object as handled in an annotation, then writes the
#   returned value to the status. If the server rejects the second request once (422), the value is never written: the
#   handler does not run again, and the request is not repeated.
# Expected: the status first, or the handler again.
# Matters: a status that a webhook or a schema rejects for a moment stays empty until the object's next change.
. "$(dirname "$0")/lib.sh"
pypi kopf==1.45.2

observe python - <<'CODE'
import asyncio
import threading

import kopf
from fakeserver import Server

server = Server()
crd = {
    "metadata": {"name": "things.example.com"},
    "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "things", "kind": "Thing"}},
}
server.store("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.example.com", crd)
server.store("/api/v1/namespaces/default", {"metadata": {"name": "default"}})
path = "/apis/example.com/v1/namespaces/default/things/a"
server.store(path, {"kind": "Thing", "apiVersion": "example.com/v1", "metadata": {"name": "a", "namespace": "default"}})
server.answers["PATCH", f"{path}/status"] = [422]
calls = []


@kopf.on.login()
def login(**_):
    return kopf.ConnectionInfo(server=server.url)


@kopf.on.create("things")
def prepare(**_):
    calls.append("create")
    return {"ready": True}


stop = threading.Event()
operator = kopf.operator(namespaces=["default"], standalone=True, stop_flag=stop)
thread = threading.Thread(target=asyncio.run, args=(operator,))
thread.start()
server.wait_for(lambda: any(r.path == f"{path}/status" for r in server.requests), seconds=60)
server.wait_for(lambda: False, seconds=6)
stored = server.objects[path]
print(calls, "annotations" in stored["metadata"], "status" in stored)
print(sum(r.path == f"{path}/status" for r in server.requests))
stop.set()
thread.join()
CODE
expect "['create'] True False
1"
