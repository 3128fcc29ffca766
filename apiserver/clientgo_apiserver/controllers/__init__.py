"""Controllers of a cluster: garbage collection, namespace deletion, quotas, and simulated workloads.

The replicas of simulated workloads become available without any pod.
"""
