"""A package's names that load their modules when first asked for, so that importing one module costs no other.

    if TYPE_CHECKING:
        from clientgo.cache.lister import Lister
    else:
        __getattr__ = on_demand(__name__, {"lister": "Lister"})

Type checkers and editors read the imports, Python calls `__getattr__` (PEP 562). No name may be that of a module of its
package, for a module that was imported stands in its place; tests/test_exports.py compares the two lists.
"""

import importlib
import sys
from collections.abc import Callable, Mapping


def on_demand(package: str, modules: Mapping[str, str]) -> Callable[[str], object]:
    """The `__getattr__` of `package`: of each module in it, the names (parted by spaces) that are the package's too.

    What it returns raises `AttributeError` for any other name, and whatever importing the module raises.
    """
    where = {name: f"{package}.{module}" for module, names in modules.items() for name in names.split()}

    def load(name: str) -> object:
        if name not in where:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value: object = getattr(importlib.import_module(where[name]), name)
        setattr(sys.modules[package], name, value)  # so that Python does not ask again
        return value

    return load
