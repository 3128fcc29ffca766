"""API types, one package for each version."""
