"""Webhooks of v1."""
