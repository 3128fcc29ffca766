"""Methods of a typed client beyond the usual verbs: for subresources with an input and an answer of their own.

    @client_method("restart", verb="create", subresource="restart", input=RestartRequest)
    @api_type(group="samples.example.com", version="v1")
    @dataclass(frozen=True, slots=True)
    class Machine: ...

The generator writes `MachineClient.restart(name, request)`; at run time the mark is only a note on the class.
"""

from collections.abc import Callable
from typing import Any, Literal, TypeVar

import msgspec

C = TypeVar("C", bound=type)

MethodVerb = Literal["get", "list", "watch", "create", "update", "patch", "apply", "delete"]


class ClientMethod(msgspec.Struct, frozen=True, kw_only=True):
    """One method: its name, what it does to which subresource, the class of what is sent and of what is answered.

    None stands for the class that has the mark.
    """

    name: str
    verb: MethodVerb
    subresource: str
    input: type[Any] | None = None
    result: type[Any] | None = None


def client_method(
    name: str,
    *,
    verb: MethodVerb,
    subresource: str,
    input: type[Any] | None = None,
    result: type[Any] | None = None,
) -> Callable[[C], C]:
    """Give the clients of a kind another method; the answer is what is sent, unless `result` names another class.

    Of a list or a watch, `result` is the class of each object.
    """

    def mark(cls: C) -> C:
        method = ClientMethod(name=name, verb=verb, subresource=subresource, input=input, result=result or input)
        # Decorators run from the last to the first; the first one written is told first.
        cls.__client_methods__ = (method, *client_methods(cls))  # type: ignore[attr-defined]  # the note
        return cls

    return mark


def client_methods(cls: type) -> tuple[ClientMethod, ...]:
    """What was noted on the class itself, the first one first."""
    found: tuple[ClientMethod, ...] = vars(cls).get("__client_methods__", ())
    return found
