"""Bundles for the Operator Lifecycle Manager (OLM): generated from a project's manifests, and validated."""
