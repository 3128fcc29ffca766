"""Controllers of the server and of its simulated cluster: workloads, pods, nodes, namespaces, garbage collection."""
