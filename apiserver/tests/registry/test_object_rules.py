"""Rules of objects: what is wrong, and the error of each field."""

from typing import Any

import pytest
import yaml

from apiserver.tests.inprocess import MERGE, Kube
from apiserver.tests.registry.ruletables import cases, check
from clientgo.meta.patches import mergepatch

Object = dict[str, Any]
POD: Object = {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}
JOB: Object = {"template": {"spec": POD}}
LABELLED: Object = {"metadata": {"labels": {"a": "b"}}, "spec": {**POD, "restartPolicy": "Always"}}
WORKLOAD: Object = {"selector": {"matchLabels": {"a": "b"}}, "template": LABELLED}
ATTACHMENT: Object = {"attacher": "a", "nodeName": "n", "source": {"persistentVolumeName": "p"}}
CLAIM: Object = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
VOLUME: Object = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/x"}}
TARGET: Object = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
ROLE: Object = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"}
SERVED: Object = {
    "metadata": {"name": "v2.a.b"},
    "spec": {"group": "a.b", "version": "v2", "groupPriorityMinimum": 1, "versionPriority": 1},
}
NAMESPACED: dict[str, tuple[str, Object]] = {
    "configmaps": ("/api/v1", {}),
    "cronjobs": ("/apis/batch/v1", {"spec": {"schedule": "* * * * *", "jobTemplate": {"spec": JOB}}}),
    "csistoragecapacities": (
        "/apis/storage.k8s.io/v1",
        {"storageClassName": "s", "nodeTopology": {"matchLabels": {"a": "b"}}},
    ),
    "daemonsets": ("/apis/apps/v1", {"spec": WORKLOAD}),
    "deployments": ("/apis/apps/v1", {"spec": WORKLOAD}),
    "endpoints": ("/api/v1", {}),
    "resourceclaimtemplates": ("/apis/resource.k8s.io/v1", {"spec": {"spec": {}}}),
    "endpointslices": ("/apis/discovery.k8s.io/v1", {"addressType": "IPv4"}),
    "events": ("/apis/events.k8s.io/v1", {"regarding": {"namespace": "default"}}),
    "horizontalpodautoscalers": ("/apis/autoscaling/v2", {"spec": {"maxReplicas": 3, "scaleTargetRef": TARGET}}),
    "ingresses": ("/apis/networking.k8s.io/v1", {"spec": {}}),
    "jobs": ("/apis/batch/v1", {"spec": JOB}),
    "leases": ("/apis/coordination.k8s.io/v1", {}),
    "limitranges": ("/api/v1", {"spec": {}}),
    "networkpolicies": ("/apis/networking.k8s.io/v1", {"spec": {"podSelector": {}}}),
    "persistentvolumeclaims": ("/api/v1", {"spec": CLAIM}),
    "poddisruptionbudgets": ("/apis/policy/v1", {"spec": {}}),
    "pods": ("/api/v1", {"spec": POD}),
    "resourcequotas": ("/api/v1", {"spec": {}}),
    "rolebindings": ("/apis/rbac.authorization.k8s.io/v1", {"roleRef": ROLE}),
    "roles": ("/apis/rbac.authorization.k8s.io/v1", {}),
    "secrets": ("/api/v1", {}),
    "services": ("/api/v1", {"spec": {"ports": [{"port": 80}]}}),
    "statefulsets": ("/apis/apps/v1", {"spec": WORKLOAD}),
}
CLUSTER: dict[str, tuple[str, Object]] = {
    "apiservices": ("/apis/apiregistration.k8s.io/v1", SERVED),
    "csidrivers": ("/apis/storage.k8s.io/v1", {"spec": {"tokenRequests": [{"audience": "a"}]}}),
    "csinodes": ("/apis/storage.k8s.io/v1", {"spec": {"drivers": [{"name": "d", "nodeID": "n"}]}}),
    "ipaddresses": ("/apis/networking.k8s.io/v1", {"spec": {"parentRef": {"resource": "s", "name": "n"}}}),
    "nodes": ("/api/v1", {"spec": {}}),
    "persistentvolumes": ("/api/v1", {"spec": VOLUME}),
    "priorityclasses": ("/apis/scheduling.k8s.io/v1", {"value": 5}),
    "runtimeclasses": ("/apis/node.k8s.io/v1", {"handler": "h"}),
    "servicecidrs": ("/apis/networking.k8s.io/v1", {"spec": {"cidrs": ["10.5.0.0/24"]}}),
    "storageclasses": ("/apis/storage.k8s.io/v1", {"provisioner": "p"}),
    "validatingwebhookconfigurations": ("/apis/admissionregistration.k8s.io/v1", {}),
    "volumeattachments": ("/apis/storage.k8s.io/v1", {"spec": ATTACHMENT}),
    "volumeattributesclasses": ("/apis/storage.k8s.io/v1", {"driverName": "d", "parameters": {"a": "b"}}),
}
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
resourceclaimtemplates {metadata: {name: a, uid: u, creationTimestamp: "2026-01-01T00:00:00Z"}}
    => metadata.name: Forbidden: cannot be set && metadata.uID: Forbidden: cannot be set
    && metadata.creationTimestamp: Forbidden: cannot be set
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
csidrivers spec: {nodeAllocatableUpdatePeriodSeconds: 9}
    => nodeAllocatableUpdatePeriodSeconds: Invalid value: 9: must be greater than or equal to 10 seconds
csidrivers spec: {tokenRequests: [{expirationSeconds: 599}, {}]}
    => tokenRequests[0].expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes
    && tokenRequests[1].audience: Duplicate value: ""
csidrivers spec: {serviceAccountTokenInSecrets: true} => serviceAccountTokenInSecrets: Invalid value: true: service
csinodes spec: {drivers: [{name: d, nodeID: n, allocatable: {count: -1}, topologyKeys: [a, a]}]}
    => drivers[0].allocatable.count: Invalid value: -1: must be greater && drivers[0]: Duplicate value: "a"
csistoragecapacities storageClassName: "", capacity: "-1" => storageClassName: Invalid value: "": a lowercase
    && capacity: Invalid value: "-1": must be greater than or equal to 0
csistoragecapacities nodeTopology: {matchExpressions: [{key: a}]} => nodeTopology.matchExpressions[0].operator: Invalid
ipaddresses metadata: {name: a} => metadata.name: Invalid value: "a": must be a valid IP address
ipaddresses metadata: {name: 10.0.0.1}, spec: {} => parentRef: Required value
ipaddresses metadata: {name: "::1"}, spec: {parentRef: {group: A_b}} => parentRef.group: Invalid value: "A_b"
    && parentRef.resource: Required value && parentRef.name: Required value
runtimeclasses overhead: {podFixed: {a: "1"}} => overhead.limits[a]: Invalid value: "a": must be a standard resource
    && overhead.limits[a]: Invalid value: "a": must be a standard resource for containers
runtimeclasses scheduling: {tolerations: [{key: a}, {key: a}]} => scheduling.tolerations[1]: Duplicate value:
servicecidrs spec: {cidrs: []} => cidrs: Required value: at least one CIDR required
servicecidrs spec: {cidrs: [10.0.0.0/24, 10.1.0.0/24]} => cidrs: Invalid value: ["10.0.0.0/24","10.1.0.0/24"]: may
servicecidrs spec: {cidrs: ["0:0::/64"]} => cidrs[0]: Invalid value: "0:0::/64": must be in canonical form
storageclasses allowedTopologies: [{}] => allowedTopologies[0].matchLabelExpressions: Duplicate value: ""
volumeattachments spec: {attacher: A_b, nodeName: n, source: {persistentVolumeName: p}} => attacher: Invalid value
volumeattachments spec: {attacher: a, nodeName: n, source: {persistentVolumeName: p, inlineVolumeSpec: {}}}
    => source: Forbidden: must specify exactly one of inlineVolumeSpec and persistentVolumeName
volumeattachments spec: {attacher: a, nodeName: n, source: {inlineVolumeSpec: {accessModes: [ReadWriteOnce]}}}
    => source.inlineVolumeSpec.csi: Required value && source.inlineVolumeSpec: Required value: must specify
volumeattributesclasses driverName: a b, parameters: {} => driverName: Invalid value: "a b": name part must consist of
    && parameters: Required value: must contain at least one key/value pair
services {ports: [{port: 99999}]} => ports[0].port: Invalid value: 99999: must be between 1 and 65535, inclusive
    && ports[0].targetPort: Invalid value: 99999: must be between 1 and 65535, inclusive
services {type: ExternalName} => externalName: Required value
services {sessionAffinity: X} => sessionAffinity: Unsupported value: "X": supported values: "ClientIP", "None"
services {ports: [{port: 80, nodePort: 30001}]}
    => ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'
endpoints subsets: [{addresses: [{ip: 127.0.0.1}]}]
    => subsets[0].addresses[0].ip: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)
endpoints subsets: [{ports: [{port: 80}]}] => subsets[0]: Required value: must specify `addresses` or
ingresses {rules: [{http: {paths: [{path: /, pathType: X, backend: {service: {name: a, port: {number: 1}}}}]}}]}
    => rules[0].http.paths[0].pathType: Unsupported value: "X": supported values: "Exact", "ImplementationSpecific",
networkpolicies {ingress: [{from: [{ipBlock: {cidr: 10.0.0.1/8}}]}]}
    => ingress[0].from[0].ipBlock.cidr: Invalid value: "10.0.0.1/8": must not have bits set beyond the prefix length
jobs {completionMode: Indexed, parallelism: 1} => completions: Required value: when completion mode is Indexed
cronjobs {schedule: "61 * * * *"} => schedule: Invalid value: "61 * * * *": end of range (61) above maximum (59): 61
deployments {template: {spec: {containers: [{name: c}]}}} => template.spec.containers[0].image: Required value
deployments {strategy: {type: Recreate, rollingUpdate: {maxSurge: 1}}}
    => strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'
deployments {strategy: {type: Other}}
    => strategy: Unsupported value: {"Type":"Other","RollingUpdate":null}: supported values: "Recreate",
daemonsets {updateStrategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 1%}}}
    => updateStrategy.rollingUpdate.maxSurge: Invalid value: 1: may not be set when maxUnavailable is non-zero
horizontalpodautoscalers {metrics: [{type: Pods}]}
    => metrics[0].pods: Required value: must populate information for the given metric source
poddisruptionbudgets {maxUnavailable: 200%} => maxUnavailable: Invalid value: "200%": must not be greater than 100%
secrets type: kubernetes.io/tls => data[tls.crt]: Required value && data[tls.key]: Required value
configmaps data: {a: b}, binaryData: {a: YQ==} => data[a]: Invalid value: "a": duplicate of key present in binaryData
persistentvolumeclaims spec: {} => accessModes: Required value: at least 1 access mode is required
    && resources[storage]: Required value
persistentvolumes {hostPath: null} => spec: Required value: must specify a volume type
persistentvolumes {hostPath: null, local: {path: /x}} => nodeAffinity: Required value: Local volume requires node
storageclasses provisioner: "" => provisioner: Required value
priorityclasses value: 2000000000 => value: Forbidden: maximum allowed value of a user defined priority is 1000000000
nodes {taints: [{key: a, effect: X}]}
    => metadata.taints[0].effect: Unsupported value: "X": supported values: "NoSchedule", "PreferNoSchedule",
resourcequotas {hard: {pods: "1.5"}} => hard[pods]: Invalid value: "1500m": must be an integer
resourcequotas {hard: {bogus: "1"}}
    => hard[bogus]: Invalid value: "bogus": must be a standard resource type or fully qualified
    && hard[bogus]: Invalid value: "bogus": must be a standard resource for quota
limitranges {limits: [{type: Container, min: {cpu: "2"}, max: {cpu: "1"}}]}
    => limits[0].min[cpu]: Invalid value: "2": min value 2 is greater than max value 1
    && limits[0].defaultRequest[cpu]: Invalid value: "1": min value 2 is greater than default request value 1
    && limits[0].default[cpu]: Invalid value: "2": min value 2 is greater than default value 1
roles rules: [{verbs: [get]}] => rules[0].apiGroups: Required value: resource rules must supply at least one api group
    && rules[0].resources: Required value: resource rules must supply at least one resource
rolebindings subjects: [{kind: ServiceAccount, name: x, apiGroup: y}]
    => subjects[0].apiGroup: Unsupported value: "y": supported values: ""
events type: X => eventTime: Required value && type: Invalid value: "": has invalid value: X
validatingwebhookconfigurations webhooks: [{name: a.b.c, sideEffects: None, admissionReviewVersions: [v1],
    clientConfig: {url: "https://a"}, rules: [{apiGroups: [""], apiVersions: [v1], resources: [a], operations:
    ["*", CREATE]}]}]
    => webhooks[0].rules[0].operations: Invalid value: ["*","CREATE"]: if '*' is present, must not specify other
runtimeclasses handler: Bad_Handler
    => handler: Invalid value: "Bad_Handler": a lowercase RFC 1123 label must consist of lower case alphanumeric
volumeattachments spec: {attacher: "", nodeName: "", source: {}} => attacher: Required value
    && source: Required value: must specify exactly one of inlineVolumeSpec and persistentVolumeName
    && nodeName: Invalid value: "": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters,
volumeattributesclasses driverName: "", parameters: null => driverName: Required value
    && parameters: Required value: must contain at least one key/value pair
apiservices metadata: {name: wrong}, spec: {group: x.y, version: v1}
    => metadata.name: Invalid value: "wrong": must be `spec.version+"."+spec.group`: "v1.x.y"
    && groupPriorityMinimum: Invalid value: 0: must be positive and less than 20000
    && versionPriority: Invalid value: 0: must be positive and less than 1000
leases spec: {leaseDurationSeconds: 0, leaseTransitions: -1}
    => leaseDurationSeconds: Invalid value: 0: must be greater than 0
    && leaseTransitions: Invalid value: -1: must be greater than or equal to 0
horizontalpodautoscalers {scaleTargetRef: {apiVersion: /}}
    => scaleTargetRef.apiVersion: Invalid value: "/": apiVersion must specify API group
deployments {template: {spec: {preemptionPolicy: ""}}} => template.spec.preemptionPolicy: Required value
apiservices {version: ""} => metadata.name: Invalid value: "v2.a.b": must be `spec.version+"."+spec.group`: ".a.b"
    && version: Invalid value: "": a DNS-1035 label must consist of lower case alphanumeric characters or '-', start
apiservices {group: ""} => metadata.name: Invalid value: "v2.a.b": must be `spec.version+"."+spec.group`: "v2."
    && group: Required value: only v1 may have an empty group and it better be legacy kube
apiservices {caBundle: AAAA} => caBundle: Invalid value: "3 bytes": local APIServices may not have a caBundle
apiservices {insecureSkipTLSVerify: true}
    => insecureSkipTLSVerify: Invalid value: true: local APIServices may not have insecureSkipTLSVerify
apiservices {service: {name: "", namespace: n, port: 0}} => service.name: Required value
    && service.port: Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive
persistentvolumes metadata: {name: a, annotations: {volume.beta.kubernetes.io/mount-options: ro}}
    => metadata.annotations.volume.beta.kubernetes.io/mount-options: Forbidden: may not specify mount options for this
persistentvolumeclaims {dataSource: {kind: PersistentVolumeClaim, name: a},
    dataSourceRef: {kind: PersistentVolumeClaim, name: b}} => spec: Invalid value: {}: must match dataSourceRef
horizontalpodautoscalers {behavior: {scaleDown: {policies: []}}}
    => behavior.scaleDown.policies: Required value: must specify at least one Policy
statefulsets {volumeClaimTemplates: [{metadata: {name: a.b}, spec: {accessModes: [ReadWriteOnce],
    resources: {requests: {storage: 1Gi}}}}]}
    => template.spec.volumes[0].name: Invalid value: "a.b": must not contain dots
apiservices {service: {name: a, namespace: n}, insecureSkipTLSVerify: true, caBundle: AAAA}
    => insecureSkipTLSVerify: Invalid value: true: may not be true if caBundle is present
statefulsets {updateStrategy: {rollingUpdate: {maxUnavailable: 0%}}}
    => updateStrategy.rollingUpdate.maxUnavailable: Invalid value: "0%": cannot be 0
statefulsets {updateStrategy: {rollingUpdate: {maxUnavailable: -1}}}
    => updateStrategy.rollingUpdate.maxUnavailable: Invalid value: -1: must be greater than or equal to 0
deployments {selector: {matchLabels: {a: c}}}
    => template.metadata.labels: Invalid value: {"a":"b"}: `selector` does not match template `labels`
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
csinodes {} -> {drivers: [{name: d, nodeID: n, allocatable: {count: 1}}]} => ok
csinodes {} -> {drivers: [{name: d, nodeID: m}]}
    => drivers: Invalid value: {"Name":"d","NodeID":"m","TopologyKeys":null,"Allocatable":null}: field is immutable
csistoragecapacities {} -> storageClassName: t => storageClassName: Invalid value: "t": field is immutable
servicecidrs {} -> {cidrs: [10.6.0.0/24]} => cidrs[0]: Invalid value: "10.6.0.0/24": field is immutable
servicecidrs {} -> {cidrs: [10.5.0.0/24, "2001:db8::/64"]} => ok
servicecidrs {} -> {cidrs: []} => cidrs: Invalid value: []: field is immutable
volumeattributesclasses {} -> driverName: e => driverName: Forbidden: updates to driverName are forbidden.
pods {} -> {dnsPolicy: Default}
    => spec: Forbidden: pod updates may not change fields other than
deployments {} -> status: {replicas: 1, readyReplicas: 2}
    => status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas
statefulsets {} -> {serviceName: x}
    => spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template',
jobs {} -> {completions: 7} => completions: Invalid value: 7: field is immutable
jobs {} -> status: {completionTime: "2024-01-01T00:00:00Z"}
    => status.completionTime: Invalid value: "2024-01-01T00:00:00Z": cannot set completionTime when there is no
secrets {} -> type: other => type: Invalid value: "other": field is immutable
endpointslices endpoints: [{addresses: [1.2.3.4]}] -> addressType: IPv6
    => addressType: Invalid value: "IPv6": field is immutable
persistentvolumeclaims {} -> {resources: {requests: {storage: null}}}
    => resources[storage]: Required value && spec: Forbidden: spec is immutable after creation
    && resources.requests.storage: Forbidden: field can not be less than status.capacity
persistentvolumeclaims {} -> {accessModes: [ReadOnlyMany]}
    => spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for
persistentvolumes {} -> {hostPath: {path: /y}}
    => persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation
storageclasses {} -> parameters: {a: b} => parameters: Invalid value: {"a":"b"}: field is immutable
rolebindings {} -> roleRef: {name: y}
    => roleRef: Invalid value: {"APIGroup":"rbac.authorization.k8s.io","Kind":"Role","Name":"y"}: cannot change roleRef
priorityclasses {} -> value: 6 => value: Forbidden: may not be changed in an update.
volumeattachments {} -> {nodeName: m}
    => spec: Invalid value: {"Attacher":"a","Source":{"PersistentVolumeName":"p",
storageclasses {} -> reclaimPolicy: Burn, volumeBindingMode: Never
    => reclaimPolicy: Unsupported value: "Burn": supported values: "Delete", "Retain"
    && volumeBindingMode: Unsupported value: "Never": supported values: "Immediate", "WaitForFirstConsumer"
    && reclaimPolicy: Invalid value: "Burn": field is immutable
    && volumeBindingMode: Invalid value: "Never": field is immutable
persistentvolumeclaims {} -> status: {allocatedResourceStatuses: {a: NodeResizePending}}
    => status.allocatedResourceStatuses: Unsupported value: "a": supported values: "storage"
persistentvolumeclaims {} -> status: {allocatedResourceStatuses: {storage: x}}
    => status.allocatedResourceStatuses: Unsupported value: "storage": supported values: "ControllerResizeInProgress",
persistentvolumeclaims {} -> status: {allocatedResources: {a b: "1"}}
    => status.allocatedResources: Invalid value: "a b": name part must consist of alphanumeric characters, '-', '_' or
persistentvolumeclaims {} -> status: {allocatedResources: {storage: "-1"}}
    => status.allocatedResources[storage]: Invalid value: -1: must be a valid resource quantity
persistentvolumeclaims {} -> status: {allocatedResources: {storage: "1", example.com/a: "1"}} => ok
jobs {suspend: true} -> {template: {spec: {containers: [{name: c, image: j}]}}}
    => template.spec: Invalid value:
nodes {} -> status: {declaredFeatures: [b, A/c, A/c]}
    => status.declaredFeatures[0]: Invalid value: "b": invalid feature name "b": must start with an UpperCamelCase
    && status.declaredFeatures[1]: Invalid value: "A/c": list must be sorted alphabetically
    && status.declaredFeatures[2]: Duplicate value: "A/c"
pods {} -> status: {extendedResourceClaimStatus: {requestMappings: [
    {containerName: x, resourceName: r, requestName: A}, {containerName: c, resourceName: r, requestName: a}]}}
    => status.extendedResourceClaimStatus.requestMappings[0].containerName: Invalid value: "x": must match the name of
    && status.extendedResourceClaimStatus.requestName: Invalid value: "A": a lowercase RFC 1123 label must consist of
    && status.extendedResourceClaimStatus.requestMappings[1].resourceName: Invalid value: "r": must match the extended
    && status.extendedResourceClaimStatus.resourceClaimName: Required value
pods {} -> status: {containerStatuses: [{name: c, user: {linux: {uid: -1, supplementalGroups: [-2]}},
    allocatedResourcesStatus: [{name: cpu, resources: [{health: x, resourceID: a}, {health: Healthy, resourceID: a}]},
    {name: "claim:a"}]}], ephemeralContainerStatuses: [{name: d, allocatedResourcesStatus: [{name: cpu}]}]}
    => status.containerStatuses[0].user.linux.uid: Invalid value: -1: must be between 0 and 2147483647, inclusive
    && status.containerStatuses[0].user.linux.supplementalGroups[0]: Invalid value: -2: must be between
    && status.containerStatuses[0].allocatedResourcesStatus[0].name: Invalid value: "cpu": must match one of
    && status.containerStatuses[0].allocatedResourcesStatus[0].resources[0].health: Unsupported value: "x"
    && status.containerStatuses[0].allocatedResourcesStatus[0].resources[1].resourceID: Duplicate value: "a"
    && status.containerStatuses[0].allocatedResourcesStatus[1].name: Invalid value: "claim:a": must match one of
    && status.ephemeralContainerStatuses[0].allocatedResourcesStatus: Forbidden: must not be specified in container
configmaps immutable: true, data: {a: b} -> data: {a: c} => data: Forbidden: field is immutable when `immutable` is
"""


def of(text: str) -> tuple[str, Object]:
    """Return the path of a kind, and its valid object changed by fields of its spec, or else of itself."""
    plural, _, fields = text.partition(" ")
    within = "/namespaces/default" if plural in NAMESPACED else ""
    path, base = {**NAMESPACED, **CLUSTER}[plural]
    named = {"metadata": {"name": "x"}, **base}
    changed = {**named, **patch(fields)} if fields[:1] != "{" else mergepatch.apply(named, patch(fields))
    return f"{path}{within}/{plural}", changed


def patch(fields: str) -> Object:
    obj: Object = {"spec": yaml.safe_load(fields)} if fields[:1] == "{" else yaml.safe_load(f"{{{fields}}}")
    return obj


@pytest.mark.parametrize(("fields", "errors"), cases(INVALID), ids=lambda text: text[:60])
def test_invalid_object_is_rejected_with_an_error_for_each_field(kube: Kube, fields: str, errors: str) -> None:
    path, obj = of(fields)
    check(kube.refused(422, "POST", path, obj), errors, {"spec.": ""})


@pytest.mark.parametrize(("change", "errors"), cases(CHANGES), ids=lambda text: text[:60])
def test_change_is_accepted_or_rejected_with_an_error_for_each_field(kube: Kube, change: str, errors: str) -> None:
    before, _, fields = change.partition(" -> ")
    path, obj = of(before)
    kube.ok("POST", path, obj)
    kube.ok("PATCH", f"{path}/x", {"metadata": {"labels": {"c": "d"}}}, MERGE)
    url = f"{path}/x/status" if fields.startswith("status:") else f"{path}/x"
    if errors == "ok":
        kube.ok("PATCH", url, patch(fields), MERGE)
    else:
        check(kube.refused(422, "PATCH", url, patch(fields), MERGE), errors, {"spec.": ""})
