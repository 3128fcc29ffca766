"""Defaults of the built-in kinds: by Go type (`types.yaml`), and functions for what depends on the whole object."""
