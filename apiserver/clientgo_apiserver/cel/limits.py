"""Limits on the cost of CEL expressions, with the values of Kubernetes (`k8s.io/apiserver/pkg/apis/cel`)."""

PER_CALL_LIMIT = 1_000_000
"""Cost of one evaluation of an expression (PerCallLimit)."""

AUTHORIZATION_CHECK_COST = 350_000
"""Cost of one check of the authorizer in an expression."""

ESTIMATED_COST_LIMIT = 10_000_000
"""Estimated cost of one rule or message of a CustomResourceDefinition (StaticEstimatedCostLimit)."""

ESTIMATED_CRD_COST_LIMIT = 100_000_000
"""Estimated cost of all rules of a CustomResourceDefinition (StaticEstimatedCRDCostLimit)."""

MAX_UINT64 = (1 << 64) - 1
"""Largest cost or size: sums and products stop there."""

FORMAT_PATTERN_SIZE, FORMAT_TEXT_SIZE = 128, 64
"""Sizes of the pattern and the text of a format, by which `format.validate` is estimated."""
