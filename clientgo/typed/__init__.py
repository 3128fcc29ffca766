"""Typed clients: the API's verbs for objects of one kind."""

from typing import TYPE_CHECKING

from clientgo.internal.exports import on_demand

if TYPE_CHECKING:
    from clientgo.typed.client import StatusClient, TypedClient
    from clientgo.typed.clientset import BaseClientset
    from clientgo.typed.create import CreateClient
    from clientgo.typed.options import DeleteOptions, Preconditions
    from clientgo.typed.scale import Scale, ScaleClient
else:
    __getattr__ = on_demand(
        __name__,
        {
            "client": "StatusClient TypedClient",
            "clientset": "BaseClientset",
            "create": "CreateClient",
            "options": "DeleteOptions Preconditions",
            "scale": "Scale ScaleClient",
        },
    )

__all__ = [
    "BaseClientset", "CreateClient", "DeleteOptions", "Preconditions", "Scale", "ScaleClient", "StatusClient",
    "TypedClient",
]  # fmt: skip
