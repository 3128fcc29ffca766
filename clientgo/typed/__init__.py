"""Typed clients: the API's verbs for objects of one kind."""

from clientgo.typed.client import StatusClient, TypedClient
from clientgo.typed.clientset import BaseClientset
from clientgo.typed.create import CreateClient
from clientgo.typed.options import DeleteOptions, Preconditions
from clientgo.typed.scale import Scale, ScaleClient

__all__ = [
    "BaseClientset", "CreateClient", "DeleteOptions", "Preconditions", "Scale", "ScaleClient", "StatusClient",
    "TypedClient",
]  # fmt: skip
