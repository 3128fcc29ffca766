"""Explanations of kinds and their fields, as `kubectl explain` prints them, without a server.

    explain("deployment.spec.strategy")
    explain(Foo, "spec.replicas")

Descriptions of built-in kinds are read from the installed `kubernetes` package; those of other kinds are in their
classes or CustomResourceDefinitions.
"""

from clientgo.explain.explanation import explain
from clientgo.explain.kinds import ExplainError

__all__ = ["ExplainError", "explain"]
