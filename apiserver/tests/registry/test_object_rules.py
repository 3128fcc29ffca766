"""Rules of services, policies, ingresses and jobs: what is wrong, and the error of each field."""

from typing import Any

import pytest
import yaml

from apiserver.tests.inprocess import MERGE, Kube
from apiserver.tests.registry.ruletables import cases, check

POD = {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}
JOB: dict[str, Any] = {"template": {"spec": POD}}
BASES: dict[str, tuple[str, dict[str, Any]]] = {
    "services": ("/api/v1", {"spec": {"ports": [{"port": 80}]}}),
    "endpointslices": ("/apis/discovery.k8s.io/v1", {"addressType": "IPv4"}),
    "ingresses": ("/apis/networking.k8s.io/v1", {"spec": {}}),
    "networkpolicies": ("/apis/networking.k8s.io/v1", {"spec": {"podSelector": {}}}),
    "jobs": ("/apis/batch/v1", {"spec": JOB}),
    "cronjobs": ("/apis/batch/v1", {"spec": {"schedule": "* * * * *", "jobTemplate": {"spec": JOB}}}),
    "pods": ("/api/v1", {"spec": POD}),
}
SPEC = {"spec.": ""}
INVALID = r"""
services {ports: [{port: 80}, {name: a, port: 81}]} => ports[0].name: Required value
services {ports: [{name: a, port: 80}, {name: a, port: 81}]} => ports[1].name: Duplicate value: "a"
services {ports: [{name: a, port: 80}, {name: b, port: 80}]} => ports[1]: Duplicate value: {
services {sessionAffinity: ClientIP, sessionAffinityConfig: {clientIP: {timeoutSeconds: 0}}}
    => sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 0: must be greater than 0 and less than 86400
services {loadBalancerSourceRanges: [10.0.0.1/8]}
    => LoadBalancerSourceRanges: Forbidden: may only be used when `type` is 'LoadBalancer'
    && LoadBalancerSourceRanges[0]: Invalid value: "10.0.0.1/8": must not have bits set
services metadata: {name: x, annotations: {service.beta.kubernetes.io/load-balancer-source-ranges: "10.0.0.0/8,x"}}
    => metadata.annotations[service.beta.kubernetes.io/load-balancer-source-ranges]: Forbidden: may only be used when
    && metadata.annotations[service.beta.kubernetes.io/load-balancer-source-ranges]: Invalid value: "x": must be a valid
services {type: LoadBalancer, loadBalancerSourceRanges: [x]} => LoadBalancerSourceRanges[0]: Invalid value: "x": must be
services {externalTrafficPolicy: Local} => externalTrafficPolicy: Invalid value: "Local": may only be set for externally
services {type: NodePort, externalTrafficPolicy: X} => externalTrafficPolicy: Unsupported value: "X"
services {type: NodePort, healthCheckNodePort: 30001} => healthCheckNodePort: Invalid value: 30001: may only be set when
services {type: ExternalName, externalName: a..b} => externalName: Invalid value: "a..b": a lowercase RFC 1123 subdomain
endpointslices endpoints: [{addresses: ["::1"]}] => endpoints[0].addresses: Invalid value: "::1": must be an IPv4
    && endpoints[0].addresses[0]: Invalid value: "::1": may not be in the loopback range
endpointslices endpoints: [{addresses: [0.0.0.0]}] => endpoints[0].addresses[0]: Invalid value: "0.0.0.0": may not be
endpointslices endpoints: [{addresses: [224.0.0.1]}] => endpoints[0].addresses[0]: Invalid value: "224.0.0.1": may not
endpointslices addressType: FQDN, endpoints: [{addresses: [a]}] => endpoints[0].addresses[0]: Invalid value: "a": should
endpointslices ports: [{name: a, port: 1}, {name: a, port: 2}] => ports[1].name: Duplicate value: "a"
ingresses {} => spec: Invalid value: null: either `defaultBackend` or `rules` must be specified
ingresses {defaultBackend: {}} => defaultBackend: Invalid value: "": resource or service backend is required
ingresses {defaultBackend: {service: {name: A, port: {}}}} => defaultBackend.service.name: Invalid value: "A": a
    && defaultBackend: Required value: port name or number is required
ingresses {defaultBackend: {service: {name: a, port: {name: b, number: 1}}}} => defaultBackend: Invalid value: "":
ingresses {defaultBackend: {service: {name: a, port: {number: 70000}}}}
    => defaultBackend.service.port.number: Invalid value: 70000: must be between 1 and 65535, inclusive
ingresses {defaultBackend: {resource: {name: a/b}}} => defaultBackend.resource.kind: Required value
    && defaultBackend.resource.name: Invalid value: "a/b": may not contain '/'
ingresses {rules: [{host: 10.0.0.1}]} => rules[0].host: Invalid value: "10.0.0.1": must be a DNS name, not an IP address
ingresses {rules: [{host: "*a.b"}]} => rules[0].host: Invalid value: "*a.b": a wildcard DNS-1123 subdomain must start
ingresses {rules: [{http: {paths: [{path: a//b, pathType: Exact, backend: {service: {name: a, port: {number: 1}}}}]}}]}
    => rules[0].http.paths[0].path: Invalid value: "a//b": must be an absolute path
    && rules[0].http.paths[0].path: Invalid value: "a//b": must not contain '//'
networkpolicies {policyTypes: [Ingress, X]} => policyTypes[1]: Unsupported value: "X"
networkpolicies {policyTypes: [Ingress, Egress, Egress]} => policyTypes: Invalid value: ["Ingress","Egress","Egress"]:
networkpolicies {ingress: [{from: [{}]}]} => ingress[0].from[0]: Required value: must specify a peer
networkpolicies {ingress: [{from: [{podSelector: {}, ipBlock: {cidr: 10.0.0.0/8}}]}]} => ingress[0].from[0]: Forbidden:
networkpolicies {ingress: [{from: [{ipBlock: {cidr: 10.0.0.0/8, except: [11.0.0.0/16]}}]}]}
    => ingress[0].from[0].ipBlock.except[0]: Invalid value: "11.0.0.0/16": must be a strict subset of `cidr`
networkpolicies {egress: [{ports: [{endPort: 9}]}]} => egress[0].ports[0].endPort: Invalid value: 9: may not be
networkpolicies {egress: [{ports: [{port: 10, endPort: 9}]}]} => egress[0].ports[0].endPort: Invalid value: 10: must be
networkpolicies {egress: [{ports: [{port: web, endPort: 9}]}]} => egress[0].ports[0].endPort: Invalid value: 9: may not
jobs {template: {spec: {restartPolicy: Always}}} => template.spec.restartPolicy: Required value: valid values:
jobs {selector: {matchLabels: {a: b}}, manualSelector: true} => template.metadata.labels: Invalid value: null:
jobs {completionMode: Indexed, completions: 5, backoffLimitPerIndex: 1, maxFailedIndexes: 6}
    => maxFailedIndexes: Invalid value: 6: must be less than or equal to completions
jobs {completionMode: Indexed, completions: 100001, backoffLimitPerIndex: 1, parallelism: 10001}
    => maxFailedIndexes: Required value: must be specified when completions is above 100000
    && parallelism: Invalid value: 10001: must be less than or equal to 10000 when completions are above
jobs {managedBy: a} => managedBy: Invalid value: "a": must be a domain-prefixed path
jobs {managedBy: A/b c} => managedBy: Invalid value: "A": a lowercase RFC 1123 && managedBy: Invalid value: "b c":
jobs {podFailurePolicy: {rules: [{action: Ignore}]}} => podFailurePolicy.rules[0]: Invalid value: specifying one of
jobs {podFailurePolicy: {rules: [{action: Ignore, onExitCodes: {operator: In, values: [2, 1, 1]}}]}}
    => podFailurePolicy.rules[0].onExitCodes.values[2]: Duplicate value: 1
    && podFailurePolicy.rules[0].onExitCodes.values: Invalid value: [2,1,1]: must be ordered
jobs {podFailurePolicy: {rules: [{action: Ignore, onExitCodes: {operator: In, values: [0], containerName: x}}]}}
    => podFailurePolicy.rules[0].onExitCodes.containerName: Invalid value: "x": must be one of the container
    && podFailurePolicy.rules[0].onExitCodes.values[0]: Invalid value: 0: must not be 0 for the In operator
jobs {completionMode: Indexed, completions: 3, successPolicy: {rules: [{}]}}
    => successPolicy.rules[0]: Required value: at least one of succeededCount or succeededIndexes must be specified
jobs {completionMode: Indexed, completions: 3, successPolicy: {rules: [{succeededIndexes: 0-1-2}]}}
    => successPolicy.rules[0].succeededIndexes: Invalid value: "0-1-2": error parsing succeededIndexes: the fragment
jobs {completionMode: Indexed, completions: 3, successPolicy: {rules: [{succeededIndexes: "5"}]}}
    => successPolicy.rules[0].succeededIndexes: Invalid value: "5": error parsing succeededIndexes: too large index: "5"
jobs {completionMode: Indexed, completions: 3, successPolicy: {rules: [{succeededIndexes: "1-2,1"}]}}
    => successPolicy.rules[0].succeededIndexes: Invalid value: "1-2,1": error parsing succeededIndexes: non-increasing
jobs {completionMode: Indexed, completions: 3, successPolicy: {rules: [{succeededIndexes: 0-1, succeededCount: 3}]}}
    => successPolicy.rules[0].succeededCount: Invalid value: 3: must be less than or equal to 2 (the number of indexes
cronjobs {schedule: "TZ=Mars * * * * *"} => schedule: Invalid value: "TZ=Mars * * * * *": provided bad location Mars:
    && schedule: Invalid value: "TZ=Mars * * * * *": cannot use TZ or CRON_TZ in schedule
cronjobs {schedule: "@every 1x"} => schedule: Invalid value: "@every 1x": failed to parse duration @every 1x: time:
cronjobs {schedule: "@never"} => schedule: Invalid value: "@never": unrecognized descriptor: @never
cronjobs {schedule: "* * *"} => schedule: Invalid value: "* * *": expected exactly 5 fields, found 3: [* * *]
cronjobs {timeZone: ""} => timeZone: Invalid value: "": timeZone must be nil or non-empty string
cronjobs {timeZone: Local} => timeZone: Invalid value: "Local": timeZone must be an explicit time zone
cronjobs {timeZone: ../etc} => timeZone: Invalid value: "../etc": unknown time zone ../etc
"""
CHANGES = r"""
pods {activeDeadlineSeconds: 5} -> {activeDeadlineSeconds: 6} => activeDeadlineSeconds: Invalid value: 6: must be less
pods {activeDeadlineSeconds: 5} -> {activeDeadlineSeconds: null} => activeDeadlineSeconds: Invalid value: null: must not
pods {} -> {containers: []} => containers: Required value && containers: Forbidden: pod updates may not add or remove
pods {tolerations: [{key: a, operator: Exists}]} -> {tolerations: []} => tolerations: Forbidden: existing toleration can
pods {schedulingGates: [{name: a}]} -> {schedulingGates: [{name: b}]} => schedulingGates[0].name: Forbidden: only
pods {schedulingGates: [{name: a}], nodeSelector: {a: b}} -> {nodeSelector: {a: c}} => nodeSelector: Invalid value:
services {clusterIP: 10.96.0.9} -> {clusterIP: 10.96.0.8, clusterIPs: [10.96.0.8]} => clusterIPs[0]: Invalid value:
jobs {completionMode: Indexed, completions: 2} -> {completions: 3} => completions: Invalid value: 3: can only be
jobs {managedBy: a.b/c} -> {managedBy: a.b/d} => managedBy: Invalid value: "a.b/d": field is immutable
"""


def of(text: str) -> tuple[str, dict[str, Any]]:
    """Return the path of a kind, and an object of it with these fields of its spec, or else of itself."""
    plural, _, fields = text.partition(" ")
    path, base = BASES[plural]
    changes: dict[str, Any] = {"spec": yaml.safe_load(fields)} if fields[:1] == "{" else yaml.safe_load(f"{{{fields}}}")
    spec = {"spec": {**base["spec"], **changes["spec"]}} if "spec" in changes else {}
    if "template" in changes.get("spec", {}):
        spec["spec"]["template"] = {"spec": {**POD, **changes["spec"]["template"]["spec"]}}
    return f"{path}/namespaces/default/{plural}", {"metadata": {"name": "x"}, **base, **changes, **spec}


@pytest.mark.parametrize(("fields", "errors"), cases(INVALID), ids=lambda text: text[:60])
def test_invalid_object_is_rejected_with_an_error_for_each_field(kube: Kube, fields: str, errors: str) -> None:
    path, obj = of(fields)
    check(kube.refused(422, "POST", path, obj), errors, SPEC)


@pytest.mark.parametrize(("change", "errors"), cases(CHANGES), ids=lambda text: text[:60])
def test_invalid_change_is_rejected_with_an_error_for_each_field(kube: Kube, change: str, errors: str) -> None:
    before, _, patch = change.partition(" -> ")
    path, obj = of(before)
    kube.ok("POST", path, obj)
    check(kube.refused(422, "PATCH", f"{path}/x", {"spec": yaml.safe_load(patch)}, MERGE), errors, SPEC)
