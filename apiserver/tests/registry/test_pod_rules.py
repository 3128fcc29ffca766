"""Rules of pods: what is wrong, and the error of each field."""

from typing import Any

import pytest
import yaml

from apiserver.tests.inprocess import MERGE, PODS, Kube
from apiserver.tests.registry.ruletables import cases, check

INVALID = r"""
os: {name: beos} => os: Unsupported value: "beos": supported values: "linux", "windows"
os: {name: linux}, securityContext: {windowsOptions: {}} => securityContext.windowsOptions: Forbidden: windows options
os: {name: windows}, hostPID: true, hostIPC: false => hostPID: Forbidden: cannot be set for a windows pod
os: {name: windows}, c: {securityContext: {privileged: false}} => c.securityContext.privileged: Forbidden: cannot be set
os: {name: windows}, resources: {limits: {cpu: 1}} => resources: Forbidden: may not be set for a windows pod
hostUsers: false, hostNetwork: true => hostNetwork: Forbidden: when `hostUsers` is false
hostUsers: false, c: {volumeDevices: [{name: w, devicePath: /d}]}, w: {} => c.volumeDevices: Forbidden: when `hostUsers`
schedulingGates: [{name: a}, {name: a}] => schedulingGates[1]: Duplicate value: "a"
schedulingGates: [{name: a b}] => schedulingGates[0]: Invalid value: "a b": name part must
tolerations: [{key: a, operator: Exists, value: b}] => tolerations[0].operator: Invalid value: "b": value must be empty
tolerations: [{key: a, value: b c}] => tolerations[0].operator: Invalid value: "b c": a valid label must
resourceClaims: [{name: r}] => resourceClaims[0]: Invalid value: {"Name":"r","ResourceClaimName":null,
resourceClaims: [{name: r, resourceClaimName: a, resourceClaimTemplateName: b}] => resourceClaims[0]: Invalid value: {
dnsConfig: {searches: [a..b]} => dnsConfig.searches[0]: Invalid value: "a..b": a lowercase RFC 1123 subdomain
dnsConfig: {options: [{value: x}]} => dnsConfig.options[0]: Required value: must not be empty
dnsConfig: {nameservers: [x]} => dnsConfig.nameservers[0]: Invalid value: "x": must be a valid IP address
hostNetwork: true, securityContext: {sysctls: [{name: net.a, value: x}]} => securityContext.sysctls[0].name: Invalid
hostIPC: true, securityContext: {sysctls: [{name: kernel/shmmax}]} => securityContext.sysctls[0].name: Invalid value
securityContext: {seccompProfile: {type: Localhost}} => securityContext.seccompProfile.localhostProfile: Required value
securityContext: {seccompProfile: {type: RuntimeDefault, localhostProfile: a}}
    => securityContext.seccompProfile.localhostProfile: Invalid value: {"Type":"RuntimeDefault","LocalhostProfile":"a"}:
securityContext: {appArmorProfile: {type: Localhost, localhostProfile: " a"}}
    => securityContext.appArmorProfile.localhostProfile: Invalid value: " a": must not be padded with whitespace
securityContext: {appArmorProfile: {type: Localhost, localhostProfile: ""}}
    => securityContext.appArmorProfile.localhostProfile: Required value: must be set when AppArmor type is Localhost
securityContext: {windowsOptions: {runAsUserName: ""}}
    => securityContext.windowsOptions.runAsUserName: Invalid value: "": runAsUserName cannot be an empty string
securityContext: {windowsOptions: {runAsUserName: "a\tb"}}
    => securityContext.windowsOptions.runAsUserName: Invalid value: "a\tb": runAsUserName cannot contain control
securityContext: {windowsOptions: {runAsUserName: 'a\b\c'}}
    => securityContext.windowsOptions.runAsUserName: Invalid value: "a\\b\\c": runAsUserName cannot contain more than
securityContext: {windowsOptions: {runAsUserName: 'a\'}}
    => securityContext.windowsOptions.runAsUserName: Invalid value: "a\\": runAsUserName's User cannot be empty
securityContext: {windowsOptions: {runAsUserName: a|b}}
    => securityContext.windowsOptions.runAsUserName: Invalid value: "a|b": runAsUserName's User cannot contain the
c: {securityContext: {privileged: true, allowPrivilegeEscalation: false}} => c.securityContext: Invalid value: {"Capab
c: {securityContext: {capabilities: {add: [CAP_SYS_ADMIN]}, allowPrivilegeEscalation: false}} => c.securityContext:
initContainers: [{name: c, image: i}] => initContainers[0].name: Duplicate value: "c"
c: {resources: {requests: {cpu: 2}}}, resources: {requests: {cpu: 1}} => resources.requests[cpu]: Invalid value: "1":
c: {resources: {limits: {cpu: 2}}}, resources: {requests: {cpu: 2}, limits: {cpu: 1}}
    => resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1
    && resources.containers[0][cpu].limits: Invalid value: "2": must be less than or equal to pod limits of 1
c: {image: " i"} => c.image: Invalid value: " i": must not have leading or trailing whitespace
c: {envFrom: [{}]} => c.envFrom: Invalid value: "": must specify one of: `configMapRef` or `secretRef`
c: {envFrom: [{configMapRef: {name: a}, secretRef: {name: b}}]} => c.envFrom: Invalid value: "": may not have more than
c: {env: [{name: A, valueFrom: {}}]} => c.env[0].valueFrom: Invalid value: "": must specify one of: `fieldRef`,
c: {env: [{name: A, value: x, valueFrom: {secretKeyRef: {name: s, key: k}}}]} => c.env[0].valueFrom: Invalid value: "":
c: {env: [{name: A, valueFrom: {fieldRef: {fieldPath: metadata.name, apiVersion: v2}}}]}
    => c.env[0].valueFrom.fieldRef.fieldPath: Invalid value: "metadata.name": error converting fieldPath: unsupported
c: {env: [{name: A, valueFrom: {fieldRef: {fieldPath: "metadata.name['a']"}}}]}
    => c.env[0].valueFrom.fieldRef.fieldPath: Invalid value: "metadata.name['a']": error converting fieldPath: field
c: {env: [{name: A, valueFrom: {fieldRef: {fieldPath: "metadata.labels['a b']"}}}]}
    => c.env[0].valueFrom.fieldRef: Invalid value: "a b": name part must consist of
c: {env: [{name: A, valueFrom: {fieldRef: {fieldPath: metadata.labels}}}]}
    => c.env[0].valueFrom.fieldRef.fieldPath: Unsupported value: "metadata.labels": supported values: "metadata.name",
c: {env: [{name: A, valueFrom: {resourceFieldRef: {}}}]} => c.env[0].valueFrom.resourceFieldRef.resource: Required value
c: {env: [{name: A, valueFrom: {resourceFieldRef: {resource: limits.gpu}}}]}
    => c.env[0].valueFrom.resourceFieldRef.resource: Unsupported value: "limits.gpu"
c: {env: [{name: A, valueFrom: {resourceFieldRef: {resource: limits.cpu, divisor: 2}}}]}
    => c.env[0].valueFrom.resourceFieldRef.divisor: Invalid value: "limits.cpu": only divisor's values 1m and 1 are
c: {env: [{name: A, valueFrom: {resourceFieldRef: {resource: limits.memory, divisor: 3}}}]}
    => c.env[0].valueFrom.resourceFieldRef.divisor: Invalid value: "limits.memory": only divisor's values 1, 1k, 1M,
c: {volumeMounts: [{name: v, mountPath: /a}, {name: v, mountPath: /a}]}, v: {emptyDir: {}}
    => c.volumeMounts[1].mountPath: Invalid value: "/a": must be unique
c: {volumeMounts: [{name: v}]}, v: {emptyDir: {}} => c.volumeMounts[0].mountPath: Required value
c: {volumeMounts: [{name: v, mountPath: /a, subPath: b, subPathExpr: c}]}, v: {emptyDir: {}}
    => c.volumeMounts[0].subPathExpr: Invalid value: "c": subPathExpr and subPath are mutually exclusive
c: {volumeMounts: [{name: v, mountPath: /a, mountPropagation: Bidirectional}]}, v: {emptyDir: {}}
    => c.volumeMounts.mountPropagation: Forbidden: Bidirectional mount propagation is available only
c: {volumeMounts: [{name: v, mountPath: /a, recursiveReadOnly: Enabled}]}, v: {emptyDir: {}}
    => c.volumeMounts.recursiveReadOnly: Forbidden: may only be specified when readOnly is true
c: {volumeMounts: [{name: v, mountPath: /a, recursiveReadOnly: Other}]}, v: {emptyDir: {}}
    => c.volumeMounts.recursiveReadOnly: Unsupported value: "Other"
c: {volumeMounts: [{name: w, mountPath: /a}], volumeDevices: [{name: w, devicePath: /a}]}, w: {}
    => c.volumeMounts[0].name: Invalid value: "w": must not already exist in volumeDevices
    && c.volumeMounts[0].mountPath: Invalid value: "/a": must not already exist as a path in volumeDevices
    && c.volumeDevices[0].name: Invalid value: "w": must not already exist in volumeMounts
    && c.volumeDevices[0].devicePath: Invalid value: "/a": must not already exist as a path in volumeMounts
c: {volumeDevices: [{name: v, devicePath: /a}, {name: lost}, {name: w, devicePath: ../x}]}, v: {emptyDir: {}}, w: {}
    => c.volumeDevices[0].name: Invalid value: "v": can only use volume source type of PersistentVolumeClaim
    && c.volumeDevices[1].name: Not found: "lost"
    && c.volumeDevices[1].devicePath: Required value
    && c.volumeDevices[2].devicePath: Invalid value: "../x": can not contain backsteps ('..')
c: {lifecycle: {preStop: {sleep: {seconds: 60}}}} => c.lifecycle.preStop.sleep: Invalid value: 60: must be non-negative
c: {ports: [{containerPort: 80, hostPort: 80}, {containerPort: 81, hostPort: 80}]}
    => c.ports[1].hostPort: Duplicate value: "TCP//80"
hostNetwork: true, c: {ports: [{containerPort: 80, hostPort: 81}]} => c.ports[0].hostPort: Invalid value: 81: must match
v: {hostPath: {path: a/../b}} => v.hostPath.path: Invalid value: "a/../b": must not contain '..'
v: {hostPath: {path: /a, type: Other}} => v.hostPath.type: Unsupported value: "Other": supported values: "",
v: {emptyDir: {sizeLimit: "-1"}} => v.emptyDir.sizeLimit: Forbidden: SizeLimit field must be a valid resource quantity
v: {secret: {secretName: s, items: [{key: a, path: /b}]}} => v.secret.items[0].path: Invalid value: "/b": must be a
v: {secret: {secretName: s, defaultMode: 9999}} => v.secret.defaultMode: Invalid value: 9999: must be a number between
v: {nfs: {path: a}} => v.nfs.server: Required value && v.nfs.path: Invalid value: "a": must be an absolute path
v: {ephemeral: {}} => v.ephemeral.volumeClaimTemplate: Required value
v: {projected: {sources: [{secret: {name: a, items: [{key: k, path: p}]}},
    {configMap: {name: b, items: [{key: k, path: p}]}}]}} => v.projected: Invalid value: "b": conflicting duplicate
v: {projected: {sources: [{serviceAccountToken: {path: t, expirationSeconds: 700}}]}}
    => v.projected.sources[0].serviceAccountToken: Forbidden: must not be specified when serviceAccountName is not set
v: {downwardAPI: {items: [{path: a}]}} => v.downwardAPI: Required value: one of fieldRef and resourceFieldRef is
c: {resources: {limits: {hugepages-2Mi: 3Mi, cpu: 1}, requests: {hugepages-2Mi: 4Mi}}}
    => c.resources.limits[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple
    && c.resources.requests: Invalid value: "4Mi": must be equal to hugepages-2Mi limit of 3Mi
c: {resources: {requests: {example.com/gpu: 1}}} => c.resources.limits: Required value: Limit must be set for non
c: {resources: {limits: {example.com/gpu: 2}, requests: {example.com/gpu: 1}}} => c.resources.requests: Invalid value:
c: {resources: {claims: [{name: x}]}} => c.resources.claims[0]: Not found: "x": must be one of the names
initContainers: [{name: i, image: i, lifecycle: {}}]
    => initContainers[0].lifecycle: Forbidden: may not be set for init containers without restartPolicy=Always
tolerations: [{key: a, tolerationSeconds: 0}]
    => tolerations[0].effect: Invalid value: "": effect must be 'NoExecute' when `tolerationSeconds` is set
c: {resources: {requests: {memory: 2Gi}, limits: {memory: 1Gi}}}
    => c.resources.requests: Invalid value: "2Gi": must be less than or equal to memory limit of 1Gi
c: {volumeMounts: [{name: lost, mountPath: /x}]} => c.volumeMounts[0].name: Not found: "lost"
c: {readinessProbe: {periodSeconds: 5}} => c.readinessProbe: Required value: must specify a handler type
c: {env: [{name: A, valueFrom: {fieldRef: {fieldPath: spec.containers}}}]}
    => c.env[0].valueFrom.fieldRef.fieldPath: Invalid value: "spec.containers": error converting fieldPath: field
v: {emptyDir: {}, secret: {secretName: s}} => v.secret: Forbidden: may not specify more than 1 volume type
v: {downwardAPI: {items: [{path: ../a, fieldRef: {fieldPath: metadata.name}}]}}
    => v.downwardAPI.path: Invalid value: "../a": must not contain '..'
"""


def pod(fields: str) -> dict[str, Any]:
    """Return a spec with these fields: `c` are those of its container, `v` and `w` its volumes, `w` a claim."""
    spec: dict[str, Any] = yaml.safe_load(f"{{{fields}}}")
    spec["containers"] = [{"name": "c", "image": "i", **spec.pop("c", {})}]
    volumes = {"v": spec.pop("v", None), "w": spec.pop("w", None)}
    volumes["w"] = volumes["w"] if volumes["w"] is None else {"persistentVolumeClaim": {"claimName": "p"}}
    spec["volumes"] = [{"name": name, **source} for name, source in volumes.items() if source is not None]
    return spec


@pytest.mark.parametrize(("fields", "errors"), cases(INVALID), ids=lambda text: text[:60])
def test_invalid_pod_is_rejected_with_an_error_for_each_field(kube: Kube, fields: str, errors: str) -> None:
    status = kube.refused(422, "POST", PODS, {"metadata": {"name": "x"}, "spec": pod(fields)})
    check(status, errors, {"spec.containers[0].": "c.", "spec.volumes[0].": "v.", "spec.": ""})


def test_diff_of_a_rejected_update_names_the_changed_field(kube: Kube) -> None:
    kube.ok("POST", PODS, {"metadata": {"name": "x"}, "spec": pod("")})
    status = kube.refused(422, "PATCH", f"{PODS}/x", {"spec": {"hostname": "other"}}, MERGE)
    assert '\n- "Hostname": "",\n+ "Hostname": "other",\n' in status["message"]
