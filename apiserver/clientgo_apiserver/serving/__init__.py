"""Serving: connections, TLS certificates, and the ASGI application that runs the API."""
