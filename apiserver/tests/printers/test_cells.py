"""Cells of built-in kinds, as kubectl shows them: a line for each object, with some of its columns."""

from typing import Any

import pytest
import yaml

from apiserver.tests.registry.ruletables import cases
from clientgo.testing.clock import FakeClock
from clientgo_apiserver.handlers.tables import render
from clientgo_apiserver.registry.builtin import builtin_registry

CELLS = r"""
endpoints subsets: [{addresses: [{ip: 1.2.3.4}, {ip: 1.2.3.5}], ports: [{port: 80}, {port: 81}]}]
    => {Endpoints: "1.2.3.4:80,1.2.3.5:80,1.2.3.4:81 + 1 more..."}
endpoints subsets: [{addresses: [{ip: 1.2.3.4}]}] => {Endpoints: 1.2.3.4}
endpoints subsets: [] => {Endpoints: <none>}
nodes metadata: {name: n, labels: {kubernetes.io/role: db, node-role.kubernetes.io/web: ""}} => {Roles: "db,web"}
nodes status: {addresses: [{type: InternalIP, address: 10.0.0.1}]} => {Internal-IP: 10.0.0.1, External-IP: <none>}
resourcequotas status: {hard: {pods: "2", limits.cpu: "1"}, used: {pods: "1"}}
    => {Request: "pods: 1/2", Limit: "limits.cpu: 0/1"}
controllerrevisions metadata: {name: a, ownerReferences: [{apiVersion: apps/v1, kind: DaemonSet, name: d,
    controller: true}]}
    => {Controller: daemonset.apps/d}
controllerrevisions metadata: {name: a, ownerReferences: [{apiVersion: v1, kind: Pod, name: p}]} => {Controller: <none>}
jobs spec: {parallelism: 3}, status: {succeeded: 1} => {Completions: 1/1 of 3, Status: Running}
jobs status: {conditions: [{type: Suspended, status: "True"}]} => {Status: Suspended, Duration: ""}
jobs status: {startTime: "2023-11-14T22:08:20Z", completionTime: "2023-11-14T22:09:50Z"} => {Duration: 90s}
horizontalpodautoscalers spec: {metrics: []} => {Targets: <none>}
horizontalpodautoscalers spec: {metrics: [{type: Resource, resource: {name: cpu, target: {averageUtilization: 50}}}]}
    => {Targets: "cpu: <unknown>/50%"}
horizontalpodautoscalers spec: {metrics: [{type: External, external: {target: {averageValue: "2"}}}]},
    status: {currentMetrics: [{external: {current: {averageValue: "1"}}}]} => {Targets: 1/2 (avg)}
horizontalpodautoscalers spec: {metrics: [{type: Pods, pods: {target: {averageValue: "2"}}}, {type: Object,
    object: {target:
    {value: "3"}}}, {type: X}]} => {Targets: "<unknown>/2, <unknown>/3 + 1 more..."}
persistentvolumes spec: {accessModes: [ReadWriteOnce, ReadOnlyMany], claimRef: {namespace: n, name: c}}
    => {Access Modes: "RWO,ROX", Claim: n/c}
persistentvolumeclaims spec: {accessModes: [ReadWriteOnce]}, status: {phase: Pending}
    => {Access Modes: "", Status: Pending}
ingressclasses spec: {controller: a.b/c, parameters: {apiGroup: a.b, kind: K, name: n}} => {Parameters: K.a.b/n}
ingressclasses spec: {controller: a.b/c} => {Parameters: <none>}
storageclasses metadata: {name: a, annotations: {storageclass.kubernetes.io/is-default-class: "true"}}
    => {Name: a (default)}
clusterrolebindings roleRef: {kind: ClusterRole, name: r}, subjects: [{kind: User, name: u}, {kind: Group, name: g}]
    => {Role: ClusterRole/r, Users: u, Groups: g, ServiceAccounts: ""}
apiservices spec: {} => {Service: Local, Available: Unknown}
apiservices spec: {service: {namespace: n, name: s}}, status: {conditions: [{type: Available, status: "False",
    reason: R}]}
    => {Service: n/s, Available: False (R)}
certificatesigningrequests status: {conditions: [{type: Approved}], certificate: eA==} => {Condition: "Approved,Issued"}
certificatesigningrequests status: {conditions: [{type: Denied}, {type: Failed}]} => {Condition: "Denied,Failed"}
resourceclaims status: {allocation: {}} => {State: pending}
resourceclaims status: {allocation: {a: b}, reservedFor: [{name: p}]} => {State: "allocated,reserved"}
ipaddresses spec: {parentRef: {group: g, resource: services, namespace: n, name: s}} => {ParentRef: services.g/n/s}
validatingadmissionpolicybindings spec: {policyName: p, paramRef: {name: a}} => {PolicyName: p, ParamRef: "*/a"}
validatingadmissionpolicies spec: {paramKind: {apiVersion: a/v1, kind: K}} => {ParamKind: a/v1/K}
ingressclasses metadata: {name: a, annotations: {ingressclass.kubernetes.io/is-default-class: "true"}}, spec: {}
    => {Name: a (default)}
persistentvolumeclaims spec: {volumeName: v}, status: {accessModes: [ReadOnlyMany, ReadWriteOnce, ReadOnlyMany]}
    => {Capacity: "0", Access Modes: "RWO,ROX"}
csidrivers spec: {tokenRequests: [{audience: ""}]} => {TokenRequests: ""}
configmaps data: {a: "1"}, binaryData: {b: ""} => {Data: 2, Age: 5m}
secrets type: Opaque, data: {a: MQ==} => {Type: Opaque, Data: 1}
namespaces status: {phase: Active} => {Status: Active}
serviceaccounts spec: => {Name: a}
nodes status: {nodeInfo: {osImage: "", kernelVersion: ""}} => {OS-Image: <unknown>}
nodes metadata: {name: n, labels: {node-role.kubernetes.io/control-plane: ""}}, spec: {unschedulable: true},
    status: {conditions: [{type: Ready, status: "True"}]}
    => {Status: "Ready,SchedulingDisabled", Roles: control-plane, Age: <unknown>}
pods spec: {containers: [{}], initContainers: [{name: side, restartPolicy: Always}]},
    status: {phase: Running, initContainerStatuses: [{name: side, started: true, ready: true}]}
    => {Ready: 1/2, Status: Running}
services spec: {type: NodePort, clusterIP: 10.0.0.1, ports: [{port: 80, nodePort: 30080}]}
    => {Cluster-IP: 10.0.0.1, External-IP: <none>, Port(s): "80:30080/TCP", Selector: <none>}
services spec: {type: LoadBalancer} => {External-IP: <pending>, Port(s): <none>}
services spec: {type: ExternalName, externalName: x.y} => {External-IP: x.y}
deployments spec: {replicas: 3, selector: {matchLabels: {app: x}},
    template: {spec: {containers: [{name: c, image: i}, {name: d, image: j}]}}},
    status: {readyReplicas: 2, updatedReplicas: 3, availableReplicas: 1}
    => {Name: a, Ready: 2/3, Up-to-date: 3, Available: 1, Age: 5m, Containers: "c,d", Images: "i,j", Selector: app=x}
replicasets spec: {replicas: 2}, status: {replicas: 2} => {Desired: 2, Ready: 0}
statefulsets spec: {replicas: 2}, status: {readyReplicas: 1} => {Ready: 1/2}
daemonsets status: {desiredNumberScheduled: 2} => {Desired: 2, Node Selector: <none>}
jobs spec: {completions: 2}, status: {succeeded: 1} => {Completions: 1/2}
jobs status: {conditions: [{type: Complete, status: "True"}]} => {Status: Complete}
leases spec: {holderIdentity: me} => {Holder: me, Age: 5m}
customresourcedefinitions spec: => {Created At: "2023-11-14T22:08:20Z"}
clusterroles rules: => {Created At: "2023-11-14T22:08:20Z"}
rolebindings roleRef: {kind: Role, name: r}, subjects: [{kind: ServiceAccount, name: s, namespace: n}]
    => {Role: Role/r, ServiceAccounts: n/s, Users: ""}
poddisruptionbudgets spec: {minAvailable: 50%} => {Max Unavailable: N/A}
ingresses spec: {rules: [{host: h}]} => {Hosts: h, Ports: "80"}
events type: Normal, reason: Synced, message: " done\n", involvedObject: {kind: Foo, name: a}, count: 3,
    source: {component: sample-controller}, firstTimestamp: "2023-11-14T22:03:20Z",
    lastTimestamp: "2023-11-14T22:13:10Z"
    => {Last Seen: 10s, First Seen: 10m, Count: 3, Object: foo/a, Message: done, Source: sample-controller}
events.events.k8s.io note: n, regarding: {kind: Foo, name: a}, eventTime: "2023-11-14T22:03:20.000000Z",
    series: {count: 7, lastObservedTime: "2023-11-14T22:13:19.500000Z"}, reportingController: c, reportingInstance: i
    => {Last Seen: 0s, First Seen: 10m, Count: 7, Source: "c, i", Object: foo/a, Message: n}
flowschemas spec: {}, status: {conditions: [{type: Dangling, status: "False"}]} => {MissingPL: "False"}
"""


@pytest.mark.parametrize(("item", "columns"), cases(CELLS), ids=lambda text: text[:50])
def test_cells_are_made_of_the_fields(item: str, columns: str) -> None:
    name, _, fields = item.partition(" ")
    plural, _, group = name.partition(".")
    resources = [each for each in builtin_registry().resources() if each.plural == plural]
    resource = next((each for each in resources if each.group == group), resources[0])
    created = "2023-11-14T22:08:20Z"  # five minutes before the time of the clock
    obj: dict[str, Any] = {"metadata": {"name": "a", "creationTimestamp": created}, **yaml.safe_load(f"{{{fields}}}")}
    table = render(resource, [obj], list_meta={}, clock=FakeClock())
    names = [column["name"] for column in table["columnDefinitions"]]
    row = dict(zip(names, table["rows"][0]["cells"], strict=True))
    expected = yaml.safe_load(columns)
    assert {name: row[name] for name in expected} == expected
