"""The last look at generated modules before any is written: all are Python, and call nothing twice by one name.

Whatever reaches a source is checked or escaped where it comes in. Should that fail, nothing is written that could run.
"""

import ast
from collections import Counter
from collections.abc import Iterator, Mapping


def faults(texts: Mapping[str, str]) -> Iterator[str]:
    """What is wrong with these modules, by file, as sentences."""
    for file, text in texts.items():
        try:
            tree = ast.parse(text)
            compile(tree, file, "exec", dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            line = getattr(error, "lineno", None) or 0
            told = f"what would be written is no Python ({error}), so nothing is"
            yield f"{file}:{line}: {told}: please report this as a bug of the generator, with its input"
            continue
        for name in _twice(tree):
            yield f"{file}: two things in it would be called {name}: give their inputs to outputs of their own"


def _twice(tree: ast.Module) -> Iterator[str]:
    for body in (tree.body, *(node.body for node in tree.body if isinstance(node, ast.ClassDef))):
        yield from (name for name, count in Counter(_bound(body)).items() if count > 1)


def _bound(body: list[ast.stmt]) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            yield node.name
        elif isinstance(node, ast.ImportFrom):
            yield from (alias.asname or alias.name for alias in node.names)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id
        elif isinstance(node, ast.Assign):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))
