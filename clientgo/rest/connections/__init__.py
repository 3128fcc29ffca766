"""Connections to the API server: TCP, TLS, proxies, HTTP/1.1, and the pool that keeps them alive."""

from typing import TYPE_CHECKING

from clientgo.internal.exports import on_demand

if TYPE_CHECKING:
    from clientgo.rest.connections.upgraded import UpgradedConnection
else:
    # Few programs have streams.
    __getattr__ = on_demand(__name__, {"upgraded": "UpgradedConnection"})

__all__ = ["UpgradedConnection"]
