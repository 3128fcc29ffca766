"""A Kubernetes API to test against: a cluster that is there, or the bundled server."""

from clientgo.envtest.environment import Environment

__all__ = ["Environment"]
