"""Defaults of the built-in kinds: by Go type (`types`), and functions for what depends on the whole object."""
