#!/usr/bin/env bash
# pykube-ng 23.6.0 (PyPI)
# Behaviour: update() merges a changed list with the one that was read, item by item: after removing the first of two
#   finalizers the other is sent twice, a list that became empty is sent as it was, and a removed container's args appear
#   in the container that took its place.
# Expected: the list is sent as it is now, since a merge patch replaces lists.
# Matters: an operator that removes its finalizer this way never lets an object go, and containers change unasked. (The
#   fork new-pykube 26.10.0 does the same.)
. "$(dirname "$0")/lib.sh"
pypi pykube-ng==23.6.0

observe python - <<'CODE'
from fakeserver import Server
from pykube import ConfigMap, Deployment, HTTPClient, KubeConfig

server = Server()
api = HTTPClient(KubeConfig(server.kubeconfig({"token": "t"})))
for before, after in ((["ours", "theirs"], ["theirs"]), (["ours"], [])):
    meta = {"name": "a", "namespace": "default", "finalizers": before}
    server.store("/api/v1/namespaces/default/configmaps/a", {"metadata": meta})
    config_map = ConfigMap.objects(api).get(name="a")
    config_map.obj["metadata"]["finalizers"] = after
    config_map.update()
    print(after, server.requests[-1].body["metadata"]["finalizers"])
containers = [{"name": "side", "image": "s", "args": ["x"]}, {"name": "app", "image": "a"}]
template = {"spec": {"containers": containers}}
meta = {"name": "d", "namespace": "default"}
server.store("/apis/apps/v1/namespaces/default/deployments/d", {"metadata": meta, "spec": {"template": template}})
deployment = Deployment.objects(api).get(name="d")
deployment.obj["spec"]["template"]["spec"]["containers"].pop(0)
deployment.update()
print(server.requests[-1].body["spec"]["template"]["spec"]["containers"])
CODE
expect "['theirs'] ['theirs', 'theirs']
[] ['ours']
[{'name': 'app', 'image': 'a', 'args': ['x']}, {'name': 'app', 'image': 'a'}]"
