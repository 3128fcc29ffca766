"""Base class of generated clientsets: one requester for all groups."""

import threading

from clientgo.rest.client import RESTClient
from clientgo.rest.config import Config
from clientgo.rest.request import Requester, checked_requester
from clientgo.typed.discovery import Discovery, Raw


class BaseClientset:
    """Clients of several groups over one requester.

    With a `Config`, it opens its own connections, and `stop` ends its requests (see `RESTClient`); with another
    clientset's `requester`, both share connections (or the objects of a fake).
    """

    def __init__(self, config: Config | Requester, *, stop: threading.Event | None = None) -> None:
        self._owns_requester = isinstance(config, Config)
        self.requester: Requester = (
            RESTClient(config, stop=stop) if isinstance(config, Config) else checked_requester(config)
        )

    @property
    def discovery(self) -> Discovery:
        """The discovery client.

        Raises:
            TypeError: the requester has no method `raw`, as `RESTClient` has.
        """
        if not isinstance(self.requester, Raw):
            raise TypeError(f"{self.requester!r} does not support discovery: use a RESTClient or a fake's requester")
        return Discovery(self.requester)

    def close(self) -> None:
        """Close the connections that this clientset opened; shared ones stay open."""
        if self._owns_requester and isinstance(self.requester, RESTClient):
            self.requester.close()
