"""Keys of the built-in kinds that several parts of the server read or write."""

from clientgo_apiserver.storage.stored import Key

ACCOUNTS: Key = ("", "serviceaccounts")
CLAIMS: Key = ("", "persistentvolumeclaims")
ENDPOINTS: Key = ("", "endpoints")
NAMESPACES: Key = ("", "namespaces")
NODES: Key = ("", "nodes")
PODS: Key = ("", "pods")
QUOTAS: Key = ("", "resourcequotas")
REPLICATION_CONTROLLERS: Key = ("", "replicationcontrollers")
SECRETS: Key = ("", "secrets")
SERVICES: Key = ("", "services")
VOLUMES: Key = ("", "persistentvolumes")
DEFINITIONS: Key = ("apiextensions.k8s.io", "customresourcedefinitions")
DAEMON_SETS: Key = ("apps", "daemonsets")
DEPLOYMENTS: Key = ("apps", "deployments")
REPLICA_SETS: Key = ("apps", "replicasets")
STATEFUL_SETS: Key = ("apps", "statefulsets")
JOBS: Key = ("batch", "jobs")
SLICES: Key = ("discovery.k8s.io", "endpointslices")
BUDGETS: Key = ("policy", "poddisruptionbudgets")
DEVICE_CLAIMS: Key = ("resource.k8s.io", "resourceclaims")
