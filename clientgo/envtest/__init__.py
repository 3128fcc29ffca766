"""Test environments: a Kubernetes API to test against."""

from clientgo.envtest.environment import Environment

__all__ = ["Environment"]
