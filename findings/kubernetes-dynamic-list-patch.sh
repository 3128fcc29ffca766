#!/usr/bin/env bash
# kubernetes 37.0.2 (PyPI)
# Behaviour: the dynamic client sends a list of operations as a strategic merge patch, also for a custom resource. The
#   typed methods send the same list as a JSON patch.
# Expected: the content type follows the body, as in the rest of the package.
# Matters: servers answer 415 for custom resources, and 400 for built-in kinds.
. "$(dirname "$0")/lib.sh"
pypi kubernetes==37.0.2

observe python - <<'CODE'
from fakeserver import Server
from kubernetes import client, dynamic

server = Server()
for path in ("/api/v1/namespaces/default/configmaps/a", "/apis/example.com/v1/namespaces/default/things/a"):
    server.store(path, {"metadata": {"name": "a", "namespace": "default"}})
configuration = client.Configuration()
configuration.host = server.url
api = client.ApiClient(configuration)
operations = [{"op": "add", "path": "/data", "value": {}}]
client.CoreV1Api(api).patch_namespaced_config_map("a", "default", operations)
print(server.requests[-1].content_type)
things = dynamic.DynamicClient(api).resources.get(api_version="example.com/v1", kind="Thing")
things.patch(name="a", namespace="default", body=operations)
print(server.requests[-1].content_type)
CODE
expect "application/json-patch+json
application/strategic-merge-patch+json"
