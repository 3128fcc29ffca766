"""Versions of Kubernetes whose API the server serves, and their feature gates."""
