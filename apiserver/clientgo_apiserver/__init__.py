"""API server for development and tests: the Kubernetes API on loopback, in one process, without etcd."""
