"""What every generated clientset inherits: one requester for all of its groups."""

from clientgo.rest.client import RESTClient
from clientgo.rest.config import Config
from clientgo.rest.request import Requester


class BaseClientset:
    """Clients of several groups over one requester.

    Give it a `Config` and it opens connections of its own; give it another clientset's `requester` and the two share
    connections (and, over a fake, objects).
    """

    def __init__(self, config: Config | Requester) -> None:
        self.requester: Requester = RESTClient(config) if isinstance(config, Config) else config
        self._own = self.requester is not config

    def close(self) -> None:
        """Close the connections this clientset opened; shared ones stay open."""
        if self._own and isinstance(self.requester, RESTClient):
            self.requester.close()
