"""Reconcilers of the API types."""
