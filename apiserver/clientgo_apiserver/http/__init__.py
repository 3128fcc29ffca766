"""HTTP: requests and responses, their bodies and options, content negotiation, JSON patches, and calls of webhooks."""
