"""Fixtures of complete projects, as for the other commands."""

from tests.cli.conftest import variables

__all__ = ["variables"]
