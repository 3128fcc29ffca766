#!/usr/bin/env bash
# kr8s 0.20.15, lightkube 1.0.1, pykube-ng 23.6.0 and kubernetes 37.0.2 (PyPI)
# Behaviour: with KUBECONFIG=first:second, both with a cluster k and a user u, kr8s sends its request with the token of
#   the second file. lightkube and pykube-ng look for one file named "first:second". kubernetes uses the first file.
# Expected: the first file wins for each name, as in kubectl.
# Matters: an operator that is tried out with kr8s works on another cluster than the one kubectl shows.
. "$(dirname "$0")/lib.sh"
pypi kr8s==0.20.15 lightkube==1.0.1 pykube-ng==23.6.0 kubernetes==37.0.2

observe python - <<'CODE'
import json
import os
from pathlib import Path

from fakeserver import Server

server = Server()
for name in ("first", "second"):
    Path(name).write_text(json.dumps(server.kubeconfig({"token": name})))
os.environ["KUBECONFIG"] = "first:second"

import kr8s
import pykube
from kubernetes import client, config
from lightkube import Client
from lightkube.resources import core_v1


def official():
    config.load_kube_config()
    client.CoreV1Api().list_namespaced_config_map("default")


for name, send in (
    ("kubernetes", official),
    ("kr8s", lambda: list(kr8s.api().get("configmaps"))),
    ("lightkube", lambda: list(Client().list(core_v1.ConfigMap))),
    ("pykube", lambda: list(pykube.ConfigMap.objects(pykube.HTTPClient(pykube.KubeConfig.from_env())))),
):
    try:
        send()
        print(name, server.requests[-1].authorization)
    except Exception as error:
        print(name, error)
CODE
expect "kubernetes Bearer first
kr8s Bearer second
lightkube Configuration file first:second not found
pykube Configuration file first:second not found"
