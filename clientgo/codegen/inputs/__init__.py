"""Readers of the generator's inputs: `@api_type` classes, declarations, expansions, CRDs and OpenAPI documents."""
