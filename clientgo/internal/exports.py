"""Names of packages that their modules define: lazy exports, and errors that name the module.

With `on_demand` each name imports its module on first use, so that one module does not import the others:

    if TYPE_CHECKING:
        from clientgo.cache.lister import Lister
    else:
        __getattr__ = on_demand(__name__, {"lister": "Lister"})

Type checkers and editors read the imports, Python calls `__getattr__` (PEP 562). A name must not be that of a module of
its package, which an import would put in its place; tests/internal/test_exports.py compares the two lists.
"""

import importlib
import os
import sys
from collections.abc import Callable, Mapping, Sequence


def on_demand(package: str, modules: Mapping[str, str]) -> Callable[[str], object]:
    """Return the `__getattr__` of a package, for space-separated names by module.

    It raises `AttributeError` for other names, and any error of the import.
    """
    modules_by_name = {name: f"{package}.{module}" for module, names in modules.items() for name in names.split()}

    def load(name: str) -> object:
        if name not in modules_by_name:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value: object = getattr(importlib.import_module(modules_by_name[name]), name)
        setattr(sys.modules[package], name, value)  # so that Python does not call this again
        return value

    return load


def import_from_modules(package: str, path: Sequence[str]) -> Callable[[str], object]:
    """Return the `__getattr__` of a package without exports, whose `__path__` is `path`.

    For a class of its modules it raises an `ImportError` that names them, else `AttributeError`. Only an error imports
    the modules.
    """

    def fail(name: str) -> object:
        names: list[str] = []
        if name[:1].isupper():  # not for attributes of modules, which other code looks for
            # Not pathlib, which takes a twentieth of `--help`.
            files = os.listdir(path[0])  # noqa: PTH208
            modules = sorted(f".{file[:-3]}" for file in files if file.endswith(".py") and file[0] != "_")
            names = [module for module in modules if name in importlib.import_module(module, package).__all__]
        if not names:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        raise ImportError(f"cannot import name {name!r} from {package!r}: import it from {package}{' or '.join(names)}")

    return fail
