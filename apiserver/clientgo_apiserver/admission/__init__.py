"""Admission of writes: webhooks, and the built-in plugins for quotas, limits, Pod Security, namespaces and owners."""
