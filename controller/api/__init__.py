"""Kinds of the API group samplecontroller.k8s.io, one module for each version."""
