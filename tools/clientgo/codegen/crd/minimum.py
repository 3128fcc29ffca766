"""Oldest version of Kubernetes that accepts a CustomResourceDefinition, by the features that it uses.

A server accepts a CEL function in new rules one version after it knows the function: rules must survive a rollback.
"""

import re
from collections.abc import Iterator
from typing import Any

from clientgo.version import minor_of

ANNOTATION = "clientgo.dev/minimum-kubernetes-version"
"""Annotation of generated definitions that need a version newer than `BASE`."""

BASE = "1.29"
"""Version in which validation rules became generally available: an older one is not named."""

_FUNCTIONS = (
    ("1.30", re.compile(r"\bsets\.(contains|equivalent|intersects)\(")),
    ("1.31", re.compile(r"\b(ip|cidr|isIP|isCIDR|ip\.isCanonical)\(")),
    ("1.32", re.compile(r"\bformat\.\w+\(")),
    (
        "1.33",
        re.compile(
            r"\.(transformList|transformMap|transformMapEntry)\(|\.(all|exists|exists_one|existsOne)\(\w+, ?\w+,"
        ),
    ),
    ("1.34", re.compile(r"\b(semver|isSemver)\(")),
    ("1.35", re.compile(r"\blists\.range\(|\.(distinct|first|flatten|last|reverse|slice|sort|sortBy)\(")),
    ("1.37", re.compile(r"\.includes\(")),
)
_MARK = re.compile(r"\\.|['\"]", re.DOTALL)
"""What can begin or end a text of CEL, or is escaped in one."""


def minimum_version(definition: dict[str, Any]) -> str:
    """Return the oldest version of Kubernetes that accepts a definition, at least `BASE`."""
    return max(_needs(definition["spec"]), key=minor_of, default=BASE)


def _needs(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for item in value:
            yield from _needs(item)
    elif isinstance(value, dict):
        if isinstance(value.get("selectableFields"), list):  # and not a property of this name
            yield "1.31"
        rules = value.get("x-kubernetes-validations")
        for rule in rules if isinstance(rules, list) else ():
            yield from _of_rule(rule)
        for key, item in value.items():
            if key not in ("default", "enum", "example", "x-kubernetes-validations"):
                yield from _needs(item)


def _of_rule(rule: dict[str, Any]) -> Iterator[str]:
    if "optionalOldSelf" in rule:
        yield "1.30"
    for expression in (rule.get("rule"), rule.get("messageExpression")):
        code = _without_texts(expression or "")
        yield from (version for version, pattern in _FUNCTIONS if pattern.search(code))


def _without_texts(expression: str) -> str:
    code, quote, start = [], "", 0
    for mark in _MARK.finditer(expression):
        if not quote and mark[0] in "'\"":
            code.append(expression[start : mark.start()])
            quote = mark[0]
        elif mark[0] == quote:
            quote, start = "", mark.end()
    return "''".join([*code, "" if quote else expression[start:]])
