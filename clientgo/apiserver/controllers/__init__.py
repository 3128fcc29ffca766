"""Controllers of a cluster, as far as programs on the bundled server need them.

Garbage collection, namespace deletion, and simulated workloads whose replicas become available without any pod.
"""
