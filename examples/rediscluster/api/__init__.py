"""The kinds, a package for each version."""
