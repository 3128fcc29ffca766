"""What every line logged inside a block carries, without being handed from call to call.

A context variable holds a chain: the innermost block's fields, and the chain around it. Entering and leaving a block is
one link more and one less, whatever is logged or not; only a line that is written walks the chain. A new thread starts
without fields.
"""

from contextvars import ContextVar, Token
from types import TracebackType
from typing import Any


class context:  # noqa: N801  # used like a function: `with context(name="x"):`
    """Every line logged inside the block, in this thread, carries these fields; inner blocks add to outer ones.

    None stands for a field that is left out. An object is for one block, which it can be at most once at a time.
    """

    __slots__ = ("_fields", "_token")

    def __init__(self, **fields: Any) -> None:
        self._fields = fields

    def __enter__(self) -> None:
        self._token: Token[_Chain | None] = _CHAIN.set((self._fields, _CHAIN.get()))

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        _CHAIN.reset(self._token)


_Chain = tuple[dict[str, Any], "_Chain | None"]
_CHAIN: ContextVar[_Chain | None] = ContextVar("log_fields", default=None)


def current_fields() -> dict[str, Any]:
    """The fields of the blocks around the caller, outer ones first; an inner field replaces an outer one."""
    links: list[dict[str, Any]] = []
    chain = _CHAIN.get()
    while chain is not None:
        fields, chain = chain
        links.append(fields)
    merged: dict[str, Any] = {}
    for fields in reversed(links):
        merged.update(fields)
    return {key: value for key, value in merged.items() if value is not None}
