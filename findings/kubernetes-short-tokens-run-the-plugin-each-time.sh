#!/usr/bin/env bash
# kubernetes 37.0.2 (PyPI)
# Behaviour: if a credential plugin (exec) returns a token that expires in less than five minutes, the plugin runs again
#   for every request: once at loading, and three times for three requests.
# Expected: once, until shortly before the token expires.
# Matters: each request of a controller takes the time of a process, often with a request to an identity provider.
. "$(dirname "$0")/lib.sh"
pypi kubernetes==37.0.2

cat >plugin.py <<'CODE'
import json
from datetime import datetime, timedelta, timezone
from pathlib import Path

with Path("runs").open("a") as runs:
    runs.write("run\n")
expiry = datetime.now(timezone.utc) + timedelta(seconds=240)
status = {"token": "t", "expirationTimestamp": expiry.strftime("%Y-%m-%dT%H:%M:%SZ")}
print(json.dumps({"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status}))
CODE

observe python - <<'CODE'
import sys
from pathlib import Path

from fakeserver import Server
from kubernetes import client, config

server = Server()
plugin = {"apiVersion": "client.authentication.k8s.io/v1", "command": sys.executable, "args": ["plugin.py"]}
user = {"exec": {**plugin, "interactiveMode": "Never"}}
configuration = client.Configuration()
config.load_kube_config_from_dict(server.kubeconfig(user), client_configuration=configuration)
core = client.CoreV1Api(client.ApiClient(configuration))
for _ in range(3):
    core.list_namespaced_config_map("default")
print(len(Path("runs").read_text().split()))
CODE
expect "4"
