"""Common Expression Language as Kubernetes configures it: parser, type checker, cost estimator and interpreter.

`python -m apiserver.tests.cel.conformance` plays the conformance tests of the CEL specification.
"""
