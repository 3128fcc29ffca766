"""Keys of the objects that controllers act on, and the annotations by which a user directs simulated workloads."""

from clientgo_apiserver.storage.stored import Key

PODS: Key = ("", "pods")
NODES: Key = ("", "nodes")
REPLICATION_CONTROLLERS: Key = ("", "replicationcontrollers")
DEPLOYMENTS: Key = ("apps", "deployments")
REPLICA_SETS: Key = ("apps", "replicasets")
STATEFUL_SETS: Key = ("apps", "statefulsets")
DAEMON_SETS: Key = ("apps", "daemonsets")
JOBS: Key = ("batch", "jobs")

AVAILABLE = "simulation.clientgo.dev/available"
"""Annotation of a workload: with "false" it gets no further ready pods."""
OUTCOME = "simulation.clientgo.dev/job"
"""Annotation of a Job: what becomes of its pods."""
