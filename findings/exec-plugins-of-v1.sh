#!/usr/bin/env bash
# lightkube 1.0.1, pykube-ng 23.6.0 and kr8s 0.20.15 (PyPI)
# Behaviour: a kubeconfig with a credential plugin (exec) of client.authentication.k8s.io/v1 is an error in lightkube and
#   pykube-ng: "not implemented". kr8s runs the plugin. With v1beta1 all three run it.
# Expected: all three run it, since v1 has been the version of the API since Kubernetes 1.22.
# Matters: programs fail with the kubeconfig of a plugin that speaks only v1, where kubectl and the other client work.
. "$(dirname "$0")/lib.sh"
pypi lightkube==1.0.1 pykube-ng==23.6.0 kr8s==0.20.15

observe python - <<'CODE'
import json
import sys
from pathlib import Path

import kr8s
import pykube
from fakeserver import Server
from lightkube import Client, KubeConfig
from lightkube.resources import core_v1

server = Server()
for version in ("v1beta1", "v1"):
    api_version = f"client.authentication.k8s.io/{version}"
    credential = {"apiVersion": api_version, "kind": "ExecCredential", "status": {"token": "t"}}
    arguments = ["-c", f"print({json.dumps(credential)!r})"]
    plugin = {"apiVersion": api_version, "command": sys.executable, "args": arguments, "interactiveMode": "Never"}
    Path(version).write_text(json.dumps(server.kubeconfig({"exec": plugin})))
    for name, send in (
        ("lightkube", lambda: list(Client(config=KubeConfig.from_file(version)).list(core_v1.ConfigMap))),
        ("pykube", lambda: list(pykube.ConfigMap.objects(pykube.HTTPClient(pykube.KubeConfig.from_file(version))))),
        ("kr8s", lambda: list(kr8s.api(kubeconfig=version).get("configmaps"))),
    ):
        try:
            send()
            print(version, name, server.requests[-1].authorization)
        except Exception as error:
            print(version, name, type(error).__name__)
CODE
expect "v1beta1 lightkube Bearer t
v1beta1 pykube Bearer t
v1beta1 kr8s Bearer t
v1 lightkube ConfigError
v1 pykube NotImplementedError
v1 kr8s Bearer t"
