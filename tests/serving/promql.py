"""Analysis of PromQL queries: metrics, label matchers and grouping labels."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import promql_parser as promql

# What Grafana puts in before Prometheus sees a query; variables inside of quotes are values, and stay.
_VARIABLES = re.compile(r"\$(__rate_interval|__interval|__range)\b")


@dataclass(frozen=True)
class Selector:
    """One metric in a query, and its labels with values; a value is None for a pattern."""

    metric: str
    labels: tuple[tuple[str, str | None], ...]


def parsed(query: str) -> promql.Expr:
    """Parse the query with Prometheus' grammar; ValueError if it is invalid."""
    return promql.parse(_VARIABLES.sub("5m", query))


def selectors(query: str) -> list[Selector]:
    """Return every metric in the query."""
    return [
        Selector(
            selector.name or "",
            tuple(
                (matcher.name, matcher.value if matcher.op == promql.MatchOp.Equal else None) for matcher in matchers
            ),
        )
        for selector in _selectors(parsed(query))
        if (matchers := selector.matchers.matchers) is not None
    ]


def grouped(query: str) -> set[str]:
    """Return the labels by which the query groups or joins."""
    result = set[str]()
    for node in _nodes(parsed(query)):
        if isinstance(node, promql.AggregateExpr) and node.modifier is not None:
            result.update(node.modifier.labels)
        if isinstance(node, promql.BinaryExpr) and node.modifier is not None and node.modifier.matching is not None:
            result.update(node.modifier.matching.labels)
    return result


def _selectors(expression: promql.Expr) -> Iterator[promql.VectorSelector]:
    for node in _nodes(expression):
        if isinstance(node, promql.VectorSelector):
            yield node
        elif isinstance(node, promql.MatrixSelector):
            yield node.vector_selector


def _nodes(expression: promql.Expr) -> list[promql.Expr]:
    matches: list[promql.Expr] = []
    promql.walk(expression, matches.append)
    return matches
