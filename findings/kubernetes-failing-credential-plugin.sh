#!/usr/bin/env bash
# kubernetes 37.0.2 (PyPI)
# Behaviour: a credential plugin (exec) that fails is an error in the log of the root logger. load_kube_config succeeds,
#   and requests carry no credentials.
# Expected: ConfigException, as for other problems of the kubeconfig; kubectl ends with the plugin's error.
# Matters: the program goes on as an anonymous user, and reports 401 or 403 from some later request.
. "$(dirname "$0")/lib.sh"
pypi kubernetes==37.0.2

observe python - <<'CODE'
from fakeserver import Server
from kubernetes import client, config

server = Server()
plugin = {"apiVersion": "client.authentication.k8s.io/v1", "command": "false", "interactiveMode": "Never"}
configuration = client.Configuration()
config.load_kube_config_from_dict(server.kubeconfig({"exec": plugin}), client_configuration=configuration)
client.CoreV1Api(client.ApiClient(configuration)).list_namespaced_config_map("default")
print(server.requests[-1].method, server.requests[-1].authorization)
CODE
expect "GET None"
