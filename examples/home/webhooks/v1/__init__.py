"""Webhooks of ajd.my.domain/v1."""
