#!/usr/bin/env bash
# kubesdk 0.3.4 with kube-models 0.6.0 (PyPI)
# Behaviour: the strategic merge patch that an update sends names container ports by their name: it does not remove one
#   of two ports without names, and has 81 as a further port if 80 became 81. For the args -a 1 -b 1 without the last
#   two it deletes every "-b" and no "1".
# Expected: ports by containerPort, the merge key of the API, and args as a whole, since they are an atomic list.
# Matters: kubectl patch --local rejects the first patch, adds a port with the second, and leaves -a 1 1 with the third.
. "$(dirname "$0")/lib.sh"
pypi kubesdk==0.3.4 kube-models==0.6.0

observe python - <<'CODE'
import json

from kube_models.apis_apps_v1.io.k8s.api.apps.v1 import Deployment
from kubesdk import json_patch_from_diff, jsonpatch_to_smp


def deployment(**container):
    pod = {"containers": [{"name": "app", "image": "a", **container}]}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": pod}}
    return Deployment.from_dict({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": spec})


def ports(*numbers):
    return {"ports": [{"containerPort": number} for number in numbers]}


for before, after in (
    (ports(53, 80), ports(80)),
    (ports(80), ports(81)),
    ({"args": ["-a", "1", "-b", "1"]}, {"args": ["-a", "1"]}),
):
    before, after = deployment(**before), deployment(**after)
    patch = jsonpatch_to_smp(before, json_patch_from_diff(before.to_dict(), after.to_dict()))
    print(json.dumps(patch["spec"]["template"]["spec"]["containers"]))
CODE
expect '[{"$setElementOrder/ports": [{"name": null}], "name": "app"}]
[{"ports": [{"containerPort": 81, "name": null}], "name": "app"}]
[{"$deleteFromPrimitiveList/args": ["-b"], "name": "app"}]'
