#!/usr/bin/env bash
# kr8s 0.20.15 and pykube-ng 23.6.0 (PyPI)
# Behaviour: the value None in a label selector becomes the text None: {"app": None} is sent as app=None, for which an
#   API server finds nothing. lightkube 1.0.1 sends app, which selects the objects that have the label.
# Expected: the label's presence, as in lightkube, or an error.
# Matters: a selector built from an unset value gives an empty list, and what is not in the list counts as absent.
. "$(dirname "$0")/lib.sh"
pypi kr8s==0.20.15 pykube-ng==23.6.0 lightkube==1.0.1

observe python - <<'CODE'
import json
from pathlib import Path

import kr8s
import pykube
from fakeserver import Server
from lightkube import Client, KubeConfig
from lightkube.resources import core_v1

server = Server()
kubeconfig = server.kubeconfig({"token": "t"})
Path("kubeconfig").write_text(json.dumps(kubeconfig))
selector = {"app": None}
list(kr8s.api(kubeconfig="kubeconfig").get("configmaps", label_selector=selector))
print("kr8s", server.requests[-1].query["labelSelector"])
list(pykube.ConfigMap.objects(pykube.HTTPClient(pykube.KubeConfig(kubeconfig))).filter(selector=selector))
print("pykube", server.requests[-1].query["labelSelector"])
list(Client(config=KubeConfig.from_file("kubeconfig")).list(core_v1.ConfigMap, labels=selector))
print("lightkube", server.requests[-1].query["labelSelector"])
CODE
expect "kr8s ['app=None']
pykube ['app=None']
lightkube ['app']"
