"""Schemas of types: CustomResourceDefinitions, OpenAPI, and their descriptions."""
