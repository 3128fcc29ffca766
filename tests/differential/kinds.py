"""Kinds whose random objects are written: built-in ones, and one with every type of list and map."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from tests.differential.shapes import Atomic, Entries, Items, Leaf, Members, Shape, Struct, leaf

NAMESPACE = "differential"
GROUP = "differential.example.com"


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind: where it is served, and the shapes of its members (without apiVersion, kind and name)."""

    name: str
    prefix: str
    plural: str
    body: Struct
    status: Struct | None = None
    updates: Struct | None = None  # what may change, where that is less than the body
    versions: tuple[str, ...] = ("v1",)
    typed: bool = True

    def path(self, version: str) -> str:
        """Return the path of the collection."""
        return f"{self.prefix}/{version}/namespaces/{NAMESPACE}/{self.plural}"

    def api_version(self, version: str) -> str:
        """Return the apiVersion of the objects."""
        group = self.prefix.removeprefix("/apis").removeprefix("/api").strip("/")
        return f"{group}/{version}" if group else version


def _items(keys: Mapping[str, tuple[Any, ...]], item: Struct | None = None, *, needed: bool = False) -> Items:
    """Return a list that merges by these keys; a key without a value (None) is omitted."""
    combined = [dict(zip(keys, values, strict=True)) for values in product(*keys.values())]
    present = tuple({name: value for name, value in key.items() if value is not None} for key in combined)
    return Items(tuple(keys), present, item or Struct({}), needed)


_TEXT = leaf("", "a", "b", "c")
_LABELS = Entries(("l1", "l2", "example.com/l3"), leaf("x", "y", ""))
METADATA = Struct(
    {
        "labels": _LABELS,
        "annotations": Entries(("a1", "a2", "example.com/a3"), leaf("x", "y", "")),
        "finalizers": Members(("example.com/f1", "example.com/f2", "example.com/f3")),
        "ownerReferences": _items(
            {"uid": ("u1", "u2", "u3")},
            Struct(
                {
                    # Of a kind that no server has: the garbage collector cannot look for it.
                    "apiVersion": leaf("owners.example.com/v1"),
                    "kind": leaf("Owner", "Other"),
                    "name": leaf("n1", "n2"),
                    "blockOwnerDeletion": leaf(True, False),
                },
                ("apiVersion", "kind", "name"),
            ),
        ),
    }
)

_PROBE = Struct(
    {
        "httpGet": Struct({"path": leaf("/a", "/b"), "port": leaf(80, "web")}, ("port",)),
        "periodSeconds": leaf(1, 5),
        "timeoutSeconds": leaf(1, 2),
    },
    ("httpGet",),
)
_KEY = Struct({"name": leaf("s1", "s2"), "key": leaf("k1", "k2"), "optional": leaf(True, False)}, ("name", "key"))
_CONTAINER = Struct(
    {
        "image": leaf("i:1", "i:2", "i"),
        "command": Atomic(leaf("sh", "run")),
        "args": Atomic(leaf("-a", "-b")),
        "env": _items(
            {"name": ("A", "B", "C", "D")},
            Struct(
                {"value": leaf("1", "2", ""), "valueFrom": Struct({"secretKeyRef": _KEY}, ("secretKeyRef",))},
                one_of=("value", "value", "valueFrom"),
            ),
        ),
        "envFrom": Atomic(Struct({"configMapRef": Struct({"name": leaf("c1", "c2")}, ("name",))}, ("configMapRef",))),
        "ports": _items(
            {"containerPort": (53, 80, 81), "protocol": ("TCP", "UDP", None)}, Struct({"hostIP": leaf("", "127.0.0.1")})
        ),
        "volumeMounts": _items(
            {"mountPath": ("/m1", "/m2")},
            Struct({"name": leaf("v1", "v1", "v1", "v2"), "readOnly": leaf(True, False)}, ("name",)),
        ),
        "resources": Struct(
            {
                "limits": Entries(("cpu", "memory"), leaf("1", "1000m", "2Gi", 1)),
                "requests": Entries(("cpu", "memory"), leaf("100m", "0.1", "1Gi")),
            }
        ),
        "livenessProbe": _PROBE,
        "imagePullPolicy": leaf("Always", "IfNotPresent"),
        "terminationMessagePath": leaf("/t", "/u"),
        "securityContext": Struct(
            {
                "runAsUser": leaf(0, 1000),
                "capabilities": Struct({"add": Atomic(leaf("NET_ADMIN", "SYS_TIME")), "drop": Atomic(leaf("ALL"))}),
            }
        ),
    },
    ("image",),
)
_INIT_CONTAINER = Struct(
    {name: shape for name, shape in _CONTAINER.fields.items() if name != "livenessProbe"}, ("image",)
)
_SOURCE = {"name": ("a", "b", "c")}
_VOLUME = Struct(
    {
        "emptyDir": Struct({"medium": leaf("Memory", ""), "sizeLimit": leaf("1Gi", "1024Mi")}),
        "configMap": Struct(
            {
                "name": leaf("c1", "c2"),
                "defaultMode": leaf(420, 256),
                "items": Atomic(Struct({"key": leaf("k1", "k2"), "path": leaf("p1", "p2")}, ("key", "path"))),
            },
            ("name",),
        ),
    },
    one_of=("emptyDir", "configMap"),
)
_AFFINITY = Struct(
    {
        "nodeAffinity": Struct(
            {
                "requiredDuringSchedulingIgnoredDuringExecution": Struct(
                    {
                        "nodeSelectorTerms": Atomic(
                            Struct(
                                {
                                    "matchExpressions": Atomic(
                                        Struct(
                                            {"key": leaf("k1", "k2"), "operator": leaf("Exists", "DoesNotExist")},
                                            ("key", "operator"),
                                        )
                                    )
                                },
                                ("matchExpressions",),
                            )
                        )
                    },
                    ("nodeSelectorTerms",),
                )
            }
        )
    }
)
_POD_FIELDS: dict[str, Shape] = {
    "containers": _items(_SOURCE, _CONTAINER, needed=True),
    "initContainers": _items({"name": ("i", "j")}, _INIT_CONTAINER),
    "volumes": _items({"name": ("v1", "v2", "v3")}, _VOLUME, needed=True),
    "nodeSelector": Entries(("n1", "n2"), leaf("x", "y")),
    "tolerations": Atomic(
        Struct(
            {"key": leaf("t1", "t2"), "operator": leaf("Exists"), "effect": leaf("NoSchedule", "NoExecute")},
            ("operator",),
        )
    ),
    "affinity": _AFFINITY,
    "hostAliases": _items({"ip": ("10.0.0.1", "10.0.0.2")}, Struct({"hostnames": Atomic(leaf("h1", "h2"))})),
    "imagePullSecrets": _items({"name": ("p1", "p2", "p3")}),
    "topologySpreadConstraints": _items(
        {"topologyKey": ("zone", "node"), "whenUnsatisfiable": ("DoNotSchedule", "ScheduleAnyway")},
        Struct({"maxSkew": leaf(1, 2)}, ("maxSkew",)),
    ),
    "securityContext": Struct(
        {"fsGroup": leaf(1, 2), "supplementalGroups": Atomic(leaf(1, 2)), "runAsNonRoot": leaf(True, False)}
    ),
    "dnsConfig": Struct({"nameservers": Atomic(leaf("1.1.1.1", "8.8.8.8")), "searches": Atomic(leaf("a.b", "c.d"))}),
    "terminationGracePeriodSeconds": leaf(0, 5, 30),
    "dnsPolicy": leaf("ClusterFirst", "Default"),
    "serviceAccountName": leaf("sa1", "sa2"),
    "hostNetwork": leaf(False),
}
_POD = Struct(_POD_FIELDS, ("containers", "volumes"))
_APP = {"app": Leaf(("app",))}
_TEMPLATE = Struct(
    {
        "metadata": Struct(
            {
                "labels": Struct({**_APP, "t1": leaf("x", "y"), "t2": leaf("x", "y")}, ("app",)),
                "annotations": Entries(("a1", "a2"), leaf("x", "y")),
            },
            ("labels",),
        ),
        "spec": _POD,
    },
    ("metadata", "spec"),
)
_SELECTOR = Struct({"matchLabels": Struct(_APP, ("app",))}, ("matchLabels",))
_TIME = leaf("2026-01-01T00:00:00Z", "2026-02-02T00:00:00Z")
_CONDITION = Struct(
    {
        "status": leaf("True", "False", "Unknown"),
        "reason": leaf("R1", "R2"),
        "message": leaf("", "m1"),
        "lastTransitionTime": _TIME,
    },
    ("status",),
)
_CONDITIONS = _items({"type": ("Available", "Progressing", "Failed")}, _CONDITION)
_COUNT = leaf(0, 1, 2, 3)
_WORKLOAD: dict[str, Shape] = {
    "replicas": _COUNT,
    "selector": _SELECTOR,
    "template": _TEMPLATE,
    "minReadySeconds": leaf(0, 5),
    "revisionHistoryLimit": leaf(1, 5),
}
_NEEDED = ("selector", "template")
DEPLOYMENT = Kind(
    "Deployment",
    "/apis/apps",
    "deployments",
    Struct(
        {
            "metadata": METADATA,
            "spec": Struct(
                {
                    **_WORKLOAD,
                    "paused": leaf(True, False),
                    "strategy": Struct(
                        {
                            "type": leaf("RollingUpdate"),
                            "rollingUpdate": Struct({"maxSurge": leaf(1, "25%"), "maxUnavailable": leaf(1, "50%")}),
                        },
                        ("type",),
                    ),
                },
                _NEEDED,
            ),
        },
        ("spec",),
    ),
    Struct({"replicas": _COUNT, "observedGeneration": _COUNT, "conditions": _CONDITIONS}),
)
STATEFUL_SET = Kind(
    "StatefulSet",
    "/apis/apps",
    "statefulsets",
    Struct(
        {
            "metadata": METADATA,
            "spec": Struct(
                {
                    **_WORKLOAD,
                    "serviceName": leaf("s1"),
                    "podManagementPolicy": leaf("OrderedReady"),
                    "updateStrategy": Struct(
                        {"type": leaf("RollingUpdate"), "rollingUpdate": Struct({"partition": leaf(0, 1)})}, ("type",)
                    ),
                    "persistentVolumeClaimRetentionPolicy": Struct(
                        {"whenDeleted": leaf("Retain", "Delete"), "whenScaled": leaf("Retain", "Delete")}
                    ),
                },
                (*_NEEDED, "serviceName"),
            ),
        },
        ("spec",),
    ),
    Struct({"replicas": _COUNT, "currentReplicas": _COUNT, "conditions": _CONDITIONS}, ("replicas",)),
)
POD = Kind(
    "Pod",
    "/api",
    "pods",
    Struct({"metadata": METADATA, "spec": _POD}, ("spec",)),
    Struct(
        {
            "phase": leaf("Pending", "Running"),
            "conditions": _items({"type": ("Ready", "Initialized", "example.com/c")}, _CONDITION),
            "podIPs": _items({"ip": ("10.0.0.1", "fd00::1")}),
            "message": _TEXT,
        }
    ),
    Struct(
        {
            "metadata": METADATA,
            "spec": Struct(
                {
                    "containers": _items(_SOURCE, Struct({"image": leaf("i:1", "i:2", "i")})),
                    "tolerations": _POD_FIELDS["tolerations"],
                    "activeDeadlineSeconds": leaf(10, 20),
                }
            ),
        }
    ),
)
SERVICE = Kind(
    "Service",
    "/api",
    "services",
    Struct(
        {
            "metadata": METADATA,
            "spec": Struct(
                {
                    "clusterIP": leaf("None"),
                    "ports": Items(
                        ("port", "protocol"),
                        (
                            {"name": "web", "port": 80},
                            {"name": "web", "port": 80, "protocol": "TCP"},
                            {"name": "dns", "port": 53, "protocol": "UDP"},
                            {"name": "dns-tcp", "port": 53, "protocol": "TCP"},
                            {"name": "tls", "port": 443},
                        ),
                        Struct({"targetPort": leaf(53, 80, "web"), "appProtocol": leaf("http", "grpc")}),
                        needed=True,
                    ),
                    "selector": Entries(("s1", "s2"), leaf("x", "y")),
                    "externalIPs": Atomic(leaf("1.1.1.1", "2.2.2.2")),
                    "sessionAffinity": leaf("None", "ClientIP"),
                    "sessionAffinityConfig": Struct({"clientIP": Struct({"timeoutSeconds": leaf(10, 20)})}),
                    "publishNotReadyAddresses": leaf(True, False),
                    "internalTrafficPolicy": leaf("Cluster", "Local"),
                },
                ("clusterIP", "ports"),
            ),
        },
        ("spec",),
    ),
    Struct({"conditions": _CONDITIONS}),
)
CONFIG_MAP = Kind(
    "ConfigMap",
    "/api",
    "configmaps",
    Struct(
        {
            "metadata": METADATA,
            "data": Entries(("d1", "d2", "d3", "d4"), leaf("x", "y", "")),
            "binaryData": Entries(("b1", "b2"), leaf("eA==", "eQ==")),
        }
    ),
)

_NUMBER = leaf(0, 1, 1.0, 3, 3.0, 1.5)
_PART = Struct({"a": _TEXT, "b": leaf(1, 2), "set": Members(("x", "y", "z")), "texts": Entries(("k1", "k2"), _TEXT)})
_OPEN = Struct(
    {"a": leaf("x", 1, 1.0, True, None), "b": Struct({"c": _NUMBER, "d": Atomic(_NUMBER)}), "e": Atomic(_PART)}
)
_CUSTOM: dict[str, Shape] = {
    "replicas": leaf(0, 1, 2, 3.0),
    "ratio": _NUMBER,
    "text": _TEXT,
    "defaulted": leaf("one", "two"),
    "nullable": leaf("x", "y", None),
    "mixed": leaf(1, "1", "25%"),
    "items": _items(
        {"name": ("a", "b", "c")},
        Struct(
            {
                "value": _TEXT,
                "part": _PART,
                "ports": _items({"port": (1, 2, 3), "protocol": ("TCP", "UDP", None)}, Struct({"text": _TEXT})),
            }
        ),
    ),
    "set": Members(("x", "y", "z", "w")),
    "numbers": Members((1, 2, 3)),
    "list": Atomic(_PART),
    "entries": Entries(("k1", "k2", "k3"), _PART),
    "texts": Entries(("k1", "k2", "k3"), _TEXT),
    "atomicMap": Entries(("k1", "k2"), _TEXT),
    "atomicStruct": _PART,
    "atomicItems": _items({"name": ("a", "b")}, Struct({"part": _PART})),
    "open": _OPEN,
    "openItems": _items({"name": ("a", "b")}, Struct({"known": _TEXT, "unknown": _TEXT})),
    "embedded": Struct(
        {
            "apiVersion": leaf("v1"),
            "kind": leaf("ConfigMap"),
            "metadata": Struct({"name": leaf("n"), "labels": _LABELS}),
            "data": Entries(("d1", "d2"), _TEXT),
        },
        ("apiVersion", "kind", "metadata"),
    ),
    "part": _PART,
    "nested": Struct({"part": _PART, "entries": Entries(("k1", "k2"), Entries(("k3", "k4"), _TEXT))}),
}
CUSTOM = Kind(
    "Thing",
    f"/apis/{GROUP}",
    "things",
    Struct({"metadata": METADATA, "spec": Struct(_CUSTOM), "other": _OPEN}),
    Struct({"phase": _TEXT, "conditions": _CONDITIONS, "counts": Entries(("c1", "c2"), leaf(1, 2))}),
    versions=("v1", "v1beta1"),
    typed=False,
)

KINDS = {kind.name: kind for kind in (DEPLOYMENT, STATEFUL_SET, POD, SERVICE, CONFIG_MAP, CUSTOM)}


def _object(properties: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    return {"type": "object", **({"properties": properties} if properties else {}), **more}


def _list(items: dict[str, Any], list_type: str = "", *keys: str) -> dict[str, Any]:
    types = {"x-kubernetes-list-type": list_type} if list_type else {}
    return {"type": "array", "items": items, **types, **({"x-kubernetes-list-map-keys": [*keys]} if keys else {})}


_STRING = {"type": "string"}
_STRINGS = _object(additionalProperties=_STRING)
_KEPT: dict[str, Any] = {"x-kubernetes-preserve-unknown-fields": True}
_EMBEDDED: dict[str, Any] = {"x-kubernetes-embedded-resource": True}
_PART_SCHEMA = _object({"a": _STRING, "b": {"type": "integer"}, "set": _list(_STRING, "set"), "texts": _STRINGS})
_PROTOCOL = {"type": "string", "default": "TCP"}
_PORT = _object({"port": {"type": "integer"}, "protocol": _PROTOCOL, "text": _STRING}, required=["port"])
_NAMED: dict[str, Any] = {"required": ["name"]}
_SPEC_SCHEMA = _object(
    {
        "replicas": {"type": "integer"},
        "ratio": {"type": "number"},
        "text": _STRING,
        "defaulted": {"type": "string", "default": "one"},
        "nullable": {"type": "string", "nullable": True},
        "mixed": {"x-kubernetes-int-or-string": True},
        "items": _list(
            _object(
                {
                    "name": _STRING,
                    "value": _STRING,
                    "part": _PART_SCHEMA,
                    "ports": _list(_PORT, "map", "port", "protocol"),
                },
                **_NAMED,
            ),
            "map",
            "name",
        ),
        "set": _list(_STRING, "set"),
        "numbers": _list({"type": "integer"}, "set"),
        "list": _list(_PART_SCHEMA),
        "entries": _object(additionalProperties=_PART_SCHEMA),
        "texts": _STRINGS,
        "atomicMap": {**_STRINGS, "x-kubernetes-map-type": "atomic"},
        "atomicStruct": {**_PART_SCHEMA, "x-kubernetes-map-type": "atomic"},
        "atomicItems": _list(
            {**_object({"name": _STRING, "part": _PART_SCHEMA}, **_NAMED), "x-kubernetes-map-type": "atomic"},
            "map",
            "name",
        ),
        "open": _object(**_KEPT),
        "openItems": _list(_object({"name": _STRING, "known": _STRING}, **_NAMED, **_KEPT), "map", "name"),
        "embedded": _object(**_KEPT, **_EMBEDDED),
        "part": _PART_SCHEMA,
        "nested": _object({"part": _PART_SCHEMA, "entries": _object(additionalProperties=_STRINGS)}),
    }
)
_CONDITION_SCHEMA = _object(
    dict.fromkeys(("type", "status", "reason", "message", "lastTransitionTime"), _STRING), required=["type"]
)
_SCHEMA = _object(
    {
        "spec": _SPEC_SCHEMA,
        "other": _object(**_KEPT),
        "status": _object(
            {
                "phase": _STRING,
                "conditions": _list(_CONDITION_SCHEMA, "map", "type"),
                "counts": _object(additionalProperties={"type": "integer"}),
            }
        ),
    }
)
DEFINITION: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"things.{GROUP}"},
    "spec": {
        "group": GROUP,
        "scope": "Namespaced",
        "names": {"kind": "Thing", "plural": "things"},
        "versions": [
            {
                "name": version,
                "served": True,
                "storage": version == "v1",
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": _SCHEMA},
            }
            for version in CUSTOM.versions
        ],
    },
}
