"""Resources the server serves: their names, strategies, validation and defaults, discovery and OpenAPI."""
