"""Values of the expressions in admission policies and matchConditions of webhooks, and their evaluation."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, ParamSpec, TypeVar

from clientgo_apiserver.admission.matching import Case
from clientgo_apiserver.admission.namespaces import is_namespace
from clientgo_apiserver.api.limits import CostLimitExceeded, OutOfBudget, cost_limit
from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.api.status import joined
from clientgo_apiserver.api.users import User, service_account
from clientgo_apiserver.auth.authorization import Attributes, decide
from clientgo_apiserver.cel.admission import BOOL, AdmissionScope, ComposedVariables, compile_condition, namespace_value
from clientgo_apiserver.cel.environment import InvalidExpression
from clientgo_apiserver.cel.functions.authorization import AuthorizerValue
from clientgo_apiserver.cel.types import ExprType
from clientgo_apiserver.cel.values import CelError
from clientgo_apiserver.registry.write import Write
from clientgo_apiserver.state import State
from clientgo_apiserver.storage.keys import NAMESPACES

Values = dict[str, Any]
P = ParamSpec("P")
R = TypeVar("R")


class PolicyError(Exception):
    """A failure of a policy itself, which its failurePolicy decides about; the message is for the client."""


def admission_values(state: State, write: Write, request: Object, case: Case) -> Values:
    """Return the variables of all expressions about a write; `case` has the objects in the requested version."""
    _, new, old = case
    namespace = None if is_namespace(write.resource) else state.store.get(NAMESPACES, "", write.namespace)
    authorizer = AuthorizerValue(partial(_decide, state, write.request.user), {})
    resource = write.resource
    target = {
        "group": resource.group,
        "resource": resource.plural,
        "subresource": write.subresource,
        "namespace": write.namespace,
        "name": write.name,
    }
    return {
        "object": new,
        "oldObject": old,
        "request": {field: value for field, value in request.items() if field not in ("object", "oldObject")},
        "namespaceObject": namespace_value(namespace),
        "authorizer": authorizer,
        "authorizer.requestResource": AuthorizerValue(authorizer.decide, target),
    }


def _decide(state: State, user: User, attributes: Mapping[str, str]) -> tuple[bool, str]:
    if "account_name" in attributes:
        user = service_account(attributes["account_namespace"], attributes["account_name"])
    fields = ("verb", "group", "resource", "subresource", "namespace", "name", "path")
    decision = decide(state, Attributes(user, **{field: attributes.get(field, "") for field in fields}))
    return decision.allowed, decision.reason


def with_variables(values: Values, spec: Object, composed: tuple[tuple[str, ExprType], ...] | None) -> Values:
    """Return the values with the variables of a policy."""
    if composed is None:
        return values
    with_composed = dict(values)
    computed = {}
    for index, variable in enumerate(spec.get("variables") or ()):
        scope = AdmissionScope("paramKind" in spec, composed=composed[:index])
        computed[variable["name"]] = partial(_computed, variable["expression"], scope, with_composed)
    with_composed["variables"] = ComposedVariables(computed)
    return with_composed


def _computed(source: str, scope: AdmissionScope, values: Values) -> Any:
    return compile_condition(source, scope).evaluate(values)


def evaluated(source: str, scope: AdmissionScope, values: Values, *results: ExprType) -> Any:
    """Return the value of an expression.

    Raises:
        PolicyError: the expression is invalid, or its evaluation failed.
    """
    try:
        return compile_condition(source, scope, *results).evaluate(values)
    except InvalidExpression as error:
        raise PolicyError(f"compilation error: {error}") from None
    except (CelError, CostLimitExceeded) as error:
        raise PolicyError(f"expression '{source}' resulted in error: {error}") from None


def evaluated_within(cost: int, function: Callable[P, R], *args: P.args, **options: P.kwargs) -> R:
    """Return the result of a function whose expressions may cost this much together.

    Raises:
        PolicyError: they cost more.
    """
    try:
        with cost_limit(cost):
            return function(*args, **options)
    except OutOfBudget as error:
        raise PolicyError(str(error)) from None


def conditions_hold(conditions: Iterable[Object], scope: AdmissionScope, values: Values) -> bool:
    """Return whether all matchConditions hold; one that does not outweighs errors.

    Raises:
        PolicyError: conditions could not be evaluated.
    """
    errors = []
    for condition in conditions:
        try:
            if evaluated(condition["expression"].strip(), scope, values, BOOL) is not True:
                return False
        except PolicyError as error:
            errors.append(str(error))
    if errors:
        raise PolicyError(joined(errors))
    return True
