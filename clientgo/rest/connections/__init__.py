"""Connections to the API server: TCP, TLS, proxies, HTTP/1.1, and the pool that keeps them alive."""
