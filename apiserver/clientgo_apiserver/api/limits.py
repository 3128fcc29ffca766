"""Limits of what a request may use: bytes, values, operations, expressions, time; and the `Budget` that a request has.

They are those of Kubernetes 1.36, whose names are in parentheses, unless the comment says otherwise. Exceeding one is
answered as by a real server.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import ParamSpec, TypeVar

from clientgo.meta.patches.jsonpatch import MAX_COPIED_BYTES as MAX_COPIED_BYTES
from clientgo.meta.patches.jsonpatch import MAX_OPERATIONS as MAX_OPERATIONS

P = ParamSpec("P")
R = TypeVar("R")

# What is read.
MAX_HEAD_BYTES = 1 << 20  # of a request without its body (net/http: DefaultMaxHeaderBytes)
MAX_BODY_BYTES = 3 << 20  # (MaxRequestBodyBytes; DefaultMaxRequestSizeBytes of declared types)
MAX_RESPONSE_BYTES = 64 << 20  # of a webhook; own limit
MAX_DEPTH = 150  # own limit: levels of nesting, of which a real server accepts 10,000; see http/nesting.py
MAX_NODES = 500_000  # own limit: values, aliases of YAML included, far more than a body holds without them
MAX_EXPRESSION_DEPTH = 250  # levels of an expression (cel-go: defaultMaxRecursionDepth)

# What is stored.
MAX_OBJECT_BYTES = 1536 * 1024  # (etcd: DefaultMaxRequestBytes)
MAX_HISTORY_BYTES = 64 << 20  # own limit: the objects of past events as JSON; older events are dropped, however few
MAX_ANNOTATION_BYTES = 256 << 10  # (TotalAnnotationSizeLimitB)
MAX_DATA_BYTES = 1 << 20  # of a Secret or ConfigMap (MaxSecretSize)
MAX_MANAGER_BYTES = 128  # (FieldManagerMaxLength)
MAX_MESSAGE_BYTES = 5 << 10  # of a rule or policy (MaxEvaluatedMessageExpressionSizeBytes)

# What expressions cost.
PER_CALL_LIMIT = 1_000_000  # of one evaluation (PerCallLimit)
RULES_COST = 10_000_000  # of all evaluations for an object, or for a binding of a policy (RuntimeCELCostBudget)
CONDITIONS_COST = 2_500_000  # of all matchConditions for a request (RuntimeCELCostBudgetMatchConditions)
AUTHORIZATION_CHECK_COST = 350_000  # of one check of the authorizer
ESTIMATED_COST_LIMIT = 10_000_000  # of one rule of a definition, estimated (StaticEstimatedCostLimit)
ESTIMATED_CRD_COST_LIMIT = 100_000_000  # of all rules of a definition, estimated (StaticEstimatedCRDCostLimit)
MAX_UINT64 = (1 << 64) - 1  # sums and products of costs and sizes stop there
FORMAT_PATTERN_SIZE, FORMAT_TEXT_SIZE = 128, 64  # by which `format.validate` is estimated

# Time.
REQUEST_SECONDS = 60.0  # of a write, if the client does not choose less (--request-timeout)
CONVERSION_SECONDS = 30.0  # of a conversion webhook (apiextensions-apiserver)

# Own limits: of what is done on the event loop, while other clients wait; about five milliseconds each.
LOOP_BYTES = 16 << 10  # of a body, or a stored object, whose steps run on it
LOOP_COST = 4_000  # of the expressions of a request
LOOP_OBJECTS = 25  # of a collection that are deleted in a row
LOOP_SECONDS = 0.01  # of the controllers in a turn, besides their last callback

MAX_EVENTS = 2_000  # of the controllers, that wait to be written until one is read
MAX_WAITING_PODS = 2_000  # that no node has room for, after which the controllers create none


class CostLimitExceeded(Exception):
    """An evaluation that is too expensive; unlike an error of evaluation it is not a value."""


class OutOfBudget(Exception):
    """Evaluations that are too expensive together: none follows."""


class AllowanceUsed(Exception):
    """Expressions that take longer than other clients can wait."""


@dataclass(slots=True)
class Budget:
    """Remaining budget of a request: time, by the server's clock, and expressions on the event loop."""

    deadline: float = float("inf")
    loop_cost: int = LOOP_COST

    def evaluate_on_loop(self, function: Callable[P, R], *args: P.args, **options: P.kwargs) -> R:
        """Call a function; raise `AllowanceUsed` once the request's expressions have cost too much together."""
        token = _on_loop.set(self)
        try:
            return function(*args, **options)
        finally:
            _on_loop.reset(token)

    def spend(self, cost: int) -> None:
        """Count the cost of an expression on the event loop."""
        self.loop_cost -= cost
        if self.loop_cost < 0:
            raise AllowanceUsed


_on_loop: ContextVar[Budget | None] = ContextVar("on_loop", default=None)
_remaining: ContextVar[list[int] | None] = ContextVar("remaining", default=None)


@contextmanager
def cost_limit(cost: int) -> Iterator[None]:
    """Limit the cost of all evaluations in the block; the one that exceeds it raises `OutOfBudget`."""
    token = _remaining.set([cost])
    try:
        yield
    finally:
        _remaining.reset(token)


class Meter:
    """Cost of one evaluation, so far."""

    __slots__ = ("_budget", "_spent")

    def __init__(self) -> None:
        self._budget = _on_loop.get()
        self._spent = 0

    def spend(self, cost: int) -> None:
        """Count a cost before it arises."""
        self._spent += cost
        if self._spent > PER_CALL_LIMIT:
            raise CostLimitExceeded("operation cancelled: actual cost limit exceeded")
        if self._budget is not None:
            self._budget.spend(cost)

    def settle(self) -> None:
        """Count the evaluation among the others of an object or a policy, once it has ended."""
        remaining = _remaining.get()
        if remaining is not None:
            remaining[0] -= self._spent
            if remaining[0] < 0:
                what = "validation failed due to running out of cost budget"
                raise OutOfBudget(f"{what}, no further validation rules will be run")
