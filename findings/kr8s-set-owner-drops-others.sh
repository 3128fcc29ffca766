#!/usr/bin/env bash
# kr8s 0.20.15 (PyPI)
# Behaviour: set_owner (and adopt, which uses it) sends a merge patch with a list of one reference: the references that
#   the object has already are lost.
# Expected: the reference is added to the list.
# Matters: an object with two owners is deleted with the last one; after this call the garbage collector knows only one.
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
first = {"apiVersion": "v1", "kind": "Secret", "name": "first", "uid": "u1"}
for name, owners in (("owner", []), ("child", [first])):
    meta = {"name": name, "namespace": "default", "ownerReferences": owners}
    server.store(f"/api/v1/namespaces/default/configmaps/{name}", {"metadata": meta})
owner, child = (ConfigMap({"metadata": {"name": name, "namespace": "default", "uid": "u2"}}, api=api) for name in ("owner", "child"))
child.set_owner(owner)
stored = server.objects["/api/v1/namespaces/default/configmaps/child"]
print(server.requests[-1].content_type, [item["name"] for item in stored["metadata"]["ownerReferences"]])
CODE
expect "application/merge-patch+json ['owner']"
