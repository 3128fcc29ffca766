"""What generated modules consist of: nothing that a stranger's text could have added is among it."""

import ast

_NODES = frozenset({
    "AnnAssign", "Assign", "Attribute", "BinOp", "BitOr", "Call", "ClassDef", "Constant", "Dict", "Expr", "FunctionDef",
    "Import", "ImportFrom", "List", "Load", "Module", "Name", "Return", "Starred", "Store", "Subscript", "Tuple",
    "USub", "UnaryOp", "alias", "arg", "arguments", "keyword",
})  # fmt: skip
_CALLS = frozenset({
    "GroupVersionKind", "GroupVersionResource", "KINDS.get", "ObjectMeta", "Scale", "Scheme", "api_type",
    "configuration_at", "msgspec.field", "ref", "scheme.add", "self.in_namespace",
})  # fmt: skip
_MODULES = ("clientgo", "collections", "datetime", "made", "msgspec", "typing", "__future__")


def foreign_parts(text: str) -> list[str]:
    """What in a module is no part of any template: statements, calls, imports, decorators."""
    tree = ast.parse(text)
    known = {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    known |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue  # what is below it is looked at like all else
        if type(node).__name__ not in _NODES:
            found.append(ast.dump(node)[:100])
        elif isinstance(node, ast.Call) and ast.unparse(node.func) not in _CALLS | (known - {"Any"}):
            found.append(ast.unparse(node)[:100])
        elif isinstance(node, ast.ImportFrom | ast.Import):
            modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else [part.name for part in node.names]
            found += [module for module in modules if module.split(".")[0] not in _MODULES]
        elif isinstance(node, ast.ClassDef | ast.FunctionDef):
            found += [
                name for name in map(ast.unparse, node.decorator_list) if not name.startswith(("api_type(", "prop"))
            ]
    return found
