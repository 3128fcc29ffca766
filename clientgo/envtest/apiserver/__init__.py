"""The bundled API server: Kubernetes' API on loopback, in one process, without etcd."""
