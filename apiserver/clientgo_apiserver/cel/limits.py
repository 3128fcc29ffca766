"""Limits on the cost of CEL expressions, with Kubernetes' values and, in parentheses, its names.

PerCallLimit and the runtime budgets are constants of `k8s.io/apiserver/pkg/apis/cel`, the estimated limits of
`k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation`.
"""

PER_CALL_LIMIT = 1_000_000
"""Cost of one evaluation of an expression (PerCallLimit)."""

RUNTIME_CEL_COST_BUDGET = 10_000_000
"""Cost of all evaluations for one custom object, or for one binding of an admission policy (RuntimeCELCostBudget)."""

RUNTIME_CEL_COST_BUDGET_MATCH_CONDITIONS = 2_500_000
"""Cost of all matchConditions of a policy or webhook for one request (RuntimeCELCostBudgetMatchConditions)."""

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
