"""Readers of the generator's inputs: `@api_type` classes, declarations, CRDs and OpenAPI documents."""
