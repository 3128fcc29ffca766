#!/usr/bin/env bash
# kubernetes 37.0.2 (PyPI)
# Behaviour: create_from_yaml with apply=True ignores the namespace of a manifest: the patch goes to the namespace of the
#   argument, "default" without one, with the manifest's namespace in its body. Without apply the manifest's counts.
# Expected: the manifest's namespace counts in both cases.
# Matters: an API server answers 400, since the two namespaces differ; a file with objects of two namespaces cannot be
#   applied in one call.
. "$(dirname "$0")/lib.sh"
pypi kubernetes==37.0.2

observe python - <<'CODE'
from fakeserver import Server
from kubernetes import client, utils

server = Server()
configuration = client.Configuration()
configuration.host = server.url
api = client.ApiClient(configuration)
manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "other"}}
server.store("/api/v1/namespaces/default/configmaps/a", manifest)
for apply in (False, True):
    utils.create_from_yaml(api, yaml_objects=[manifest], apply=apply)
    request = server.requests[-1]
    print(request.method, request.path, request.body["metadata"]["namespace"])
CODE
expect "POST /api/v1/namespaces/other/configmaps other
PATCH /api/v1/namespaces/default/configmaps/a other"
