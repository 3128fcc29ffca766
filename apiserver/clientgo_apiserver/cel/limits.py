"""Limits on the cost of CEL expressions, with the values of Kubernetes (`k8s.io/apiserver/pkg/apis/cel`)."""

PER_CALL_LIMIT = 1_000_000
"""Cost of one evaluation of an expression (PerCallLimit)."""

AUTHORIZATION_CHECK_COST = 350_000
"""Cost of one check of the authorizer in an expression."""

ESTIMATED_COST_LIMIT = 10_000_000
"""Estimated cost of one rule or message of a CustomResourceDefinition (StaticEstimatedCostLimit)."""

ESTIMATED_CRD_COST_LIMIT = 100_000_000
"""Estimated cost of all rules of a CustomResourceDefinition (StaticEstimatedCRDCostLimit)."""
