"""The front end for other people's kinds: a CRD's YAML, or a server's OpenAPI v3 document, to types as records."""
