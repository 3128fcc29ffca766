#!/usr/bin/env bash
# kubernetes-asyncio 36.1.0 (PyPI)
# Behaviour: the token of a credential plugin (exec) is read once, when the configuration is loaded. After its
#   expirationTimestamp the same token is sent, and also after a 401.
# Expected: the plugin runs again when the token has expired, as in the official client.
# Matters: a controller outside of a cluster works for the life of one token, and then gets 401 for ever.
. "$(dirname "$0")/lib.sh"
pypi kubernetes-asyncio==36.1.0

cat >plugin.py <<'CODE'
import json
from datetime import datetime, timedelta, timezone
from pathlib import Path

with Path("runs").open("a") as runs:
    runs.write("run\n")
number = len(Path("runs").read_text().split())
expiry = (datetime.now(timezone.utc) + timedelta(seconds=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
status = {"token": f"t{number}", "expirationTimestamp": expiry}
print(json.dumps({"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status}))
CODE

observe python - <<'CODE'
import asyncio
import sys

from fakeserver import Server
from kubernetes_asyncio import client, config

server = Server()
plugin = {"apiVersion": "client.authentication.k8s.io/v1", "command": sys.executable, "args": ["plugin.py"]}
kubeconfig = server.kubeconfig({"exec": {**plugin, "interactiveMode": "Never"}})


async def main():
    configuration = client.Configuration()
    await config.load_kube_config_from_dict(kubeconfig, client_configuration=configuration)
    async with client.ApiClient(configuration) as api:
        core = client.CoreV1Api(api)
        await core.list_namespaced_config_map("default")
        await asyncio.sleep(2)
        server.answers["GET", "/api/v1/namespaces/default/configmaps"] = [401]
        for _ in range(2):
            try:
                await core.list_namespaced_config_map("default")
            except client.ApiException as error:
                print(error.status)
    print([request.authorization for request in server.requests])


asyncio.run(main())
CODE
expect "401
['Bearer t1', 'Bearer t1', 'Bearer t1']"
