"""HTTP side of the API server: connections, TLS, bodies, content negotiation, and errors as Status objects."""
