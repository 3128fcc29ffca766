#!/usr/bin/env bash
# kubernetes 37.0.2 (PyPI)
# Behaviour: create_from_yaml of a custom resource raises AttributeError about a missing class, before any request. With
#   apply=True the same document is applied by the dynamic client.
# Expected: both work, or the error says that custom kinds are not supported.
# Matters: one manifest of a CRD and its first object cannot be created with it.
. "$(dirname "$0")/lib.sh"
pypi kubernetes==37.0.2

observe python - <<'CODE'
from fakeserver import Server
from kubernetes import client, utils

server = Server()
configuration = client.Configuration()
configuration.host = server.url
api = client.ApiClient(configuration)
thing = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a"}, "spec": {}}
server.store("/apis/example.com/v1/namespaces/default/things/a", thing)
try:
    utils.create_from_yaml(api, yaml_objects=[thing])
except AttributeError as error:
    print(error, len(server.requests))
print(len(utils.create_from_yaml(api, yaml_objects=[thing], apply=True)), server.requests[-1].content_type)
CODE
expect "module 'kubernetes.client' has no attribute 'ExampleComV1Api' 0
1 application/apply-patch+yaml"
