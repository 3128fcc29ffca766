"""HTTP: connections, TLS, request bodies, content negotiation, and errors as Status objects."""
