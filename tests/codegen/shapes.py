"""Allow list of syntax in generated modules, which detects injected code."""

import ast

_NODES = frozenset({
    "AnnAssign", "Assign", "Attribute", "BinOp", "BitOr", "Call", "ClassDef", "Constant", "Dict", "Expr", "FunctionDef",
    "Import", "ImportFrom", "List", "Load", "Module", "Name", "Return", "Starred", "Store", "Subscript", "Tuple",
    "USub", "UnaryOp", "alias", "arg", "arguments", "keyword",
})  # fmt: skip
_CALLS = frozenset({
    "GroupVersionKind", "GroupVersionResource", "KINDS.get", "ObjectMeta", "ScaleSubresource", "Scheme", "api_type",
    "Ref", "configuration_at", "msgspec.field", "scheme.add", "self.in_namespace",
})  # fmt: skip
_MODULES = ("clientgo", "collections", "datetime", "made", "msgspec", "typing", "__future__")


def unexpected_nodes(text: str) -> list[str]:
    """Return statements, calls, imports and decorators of a module that no template contains."""
    tree = ast.parse(text)
    registered = {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    registered |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}
    matches = []
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue  # its body is checked like other code
        if type(node).__name__ not in _NODES:
            matches.append(ast.dump(node)[:100])
        elif isinstance(node, ast.Call) and ast.unparse(node.func) not in _CALLS | (registered - {"Any"}):
            matches.append(ast.unparse(node)[:100])
        elif isinstance(node, ast.ImportFrom | ast.Import):
            modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else [part.name for part in node.names]
            matches += [module for module in modules if module.split(".")[0] not in _MODULES]
        elif isinstance(node, ast.ClassDef | ast.FunctionDef):
            matches += [
                name for name in map(ast.unparse, node.decorator_list) if not name.startswith(("api_type(", "prop"))
            ]
    return matches
