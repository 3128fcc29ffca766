"""Page of metrics: it is what the code says now, and has every metric that the source names."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from hack import metrics_page

ROOT = Path(__file__).parents[2]
KINDS = ("counter", "gauge", "histogram", "_counter", "_histogram")


def constants(node: ast.AST) -> Iterator[str]:
    """Yield the texts in an expression; of an f-string, the end."""
    for part in ast.walk(node):
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield part.value


def named(source: str) -> set[str]:
    """Return the texts of a module that look like names of metrics, of modules that create some."""
    tree = ast.parse(source)
    creates = any(
        isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in KINDS
        for node in ast.walk(tree)
    )
    texts = {text for text in constants(tree) if re.fullmatch(r"[a-z]+(_[a-z]+)+", text)}
    return {text for text in texts if re.search(r"_(total|seconds|bytes|items|objects|depth)$", text) and creates}


def test_page_is_up_to_date() -> None:
    assert metrics_page.PAGE.read_text(encoding="utf-8") == metrics_page.page(), "run make metrics-page"


def test_page_has_every_metric_that_the_source_names() -> None:
    modules = (path for path in (ROOT / "clientgo").rglob("*.py") if "kubernetes" not in path.parts)
    names = {name for module in modules for name in named(module.read_text(encoding="utf-8"))}
    listed = [metric.name for metric in metrics_page.all_metrics()]
    assert len(names) > 30
    assert [name for name in sorted(names) if not any(metric.endswith(name) for metric in listed)] == []
