"""Versions of the distribution and of the Kubernetes API, in one place."""

VERSION = "0.1.0"

KUBERNETES = "1.36"
"""Version of Kubernetes that the library is written for and compared with."""
