#!/usr/bin/env bash
# kubernetes 37.0.2, lightkube 1.0.1 and kr8s 0.20.15 (PyPI)
# Behaviour: deleting an object with an empty name sends DELETE to the path of the collection.
# Expected: an error before the request.
# Matters: an API server takes the path with the slash at its end for the collection, and deletes all its objects; a
#   name that is read from an empty setting is enough. (@kubernetes/client-node 2.0.1 sends it without the slash.)
. "$(dirname "$0")/lib.sh"
pypi kubernetes==37.0.2 lightkube==1.0.1 kr8s==0.20.15

observe python - <<'CODE'
import json
from pathlib import Path

import kr8s
from fakeserver import Server
from kr8s.objects import ConfigMap
from kubernetes import client
from lightkube import Client, KubeConfig
from lightkube.resources import core_v1

server = Server()
Path("kubeconfig").write_text(json.dumps(server.kubeconfig({"token": "t"})))
configuration = client.Configuration()
configuration.host = server.url
core = client.CoreV1Api(client.ApiClient(configuration))
typed = Client(config=KubeConfig.from_file("kubeconfig"))
nameless = ConfigMap({"metadata": {"name": "", "namespace": "default"}}, api=kr8s.api(kubeconfig="kubeconfig"))
for name, delete in (
    ("kubernetes", lambda: core.delete_namespaced_config_map("", "default")),
    ("lightkube", lambda: typed.delete(core_v1.ConfigMap, "")),
    ("kr8s", nameless.delete),
):
    server.answers["DELETE", "/api/v1/namespaces/default/configmaps"] = [404]
    try:
        delete()
    except Exception:
        print(name, server.requests[-1].method, server.requests[-1].path)
CODE
expect "kubernetes DELETE /api/v1/namespaces/default/configmaps/
lightkube DELETE /api/v1/namespaces/default/configmaps/
kr8s DELETE /api/v1/namespaces/default/configmaps/"
