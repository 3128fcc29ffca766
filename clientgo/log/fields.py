"""Context fields: values added to every line logged inside a block.

A context variable holds a linked list of the fields of the enclosing blocks. Entering and leaving a block adds and
removes one link; only a line that is written walks the list. A new thread starts without fields.
"""

from contextvars import ContextVar, Token
from types import TracebackType
from typing import Any


class context:  # noqa: N801  # used like a function: `with context(name="x"):`
    """Context manager that adds fields to every line logged inside the block in this thread.

    Inner blocks add to outer ones; None removes a field. An object must not be entered twice at a time.
    """

    __slots__ = ("_fields", "_token")

    def __init__(self, **fields: Any) -> None:
        self._fields = fields

    def __enter__(self) -> None:
        self._token: Token[Chain | None] = _CHAIN.set((self._fields, _CHAIN.get()))

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        _CHAIN.reset(self._token)


Chain = tuple[dict[str, Any], "Chain | None"]
"""Fields of a block and of the blocks around it; never changed."""

_CHAIN: ContextVar[Chain | None] = ContextVar("log_fields", default=None)


def current_chain() -> Chain | None:
    """Return the enclosing blocks, for `fields_in` to merge when their fields are printed."""
    return _CHAIN.get()


def current_fields() -> dict[str, Any]:
    """Return the fields of the enclosing blocks."""
    return fields_in(_CHAIN.get())


def fields_in(chain: Chain | None) -> dict[str, Any]:
    """Return the fields of these blocks, outer ones first; an inner field overrides an outer one."""
    links: list[dict[str, Any]] = []
    while chain is not None:
        fields, chain = chain
        links.append(fields)
    merged: dict[str, Any] = {}
    for fields in reversed(links):
        merged.update(fields)
    return {key: value for key, value in merged.items() if value is not None}
