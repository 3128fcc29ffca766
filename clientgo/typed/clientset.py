"""What every generated clientset inherits: one requester for all of its groups."""

from clientgo.rest.client import RESTClient
from clientgo.rest.config import Config
from clientgo.rest.request import Requester
from clientgo.typed.discovery import Discovery, Raw


class BaseClientset:
    """Clients of several groups over one requester.

    Give it a `Config` and it opens connections of its own; give it another clientset's `requester` and the two share
    connections (and, over a fake, objects).
    """

    def __init__(self, config: Config | Requester) -> None:
        self.requester: Requester = RESTClient(config) if isinstance(config, Config) else config
        self._own = self.requester is not config

    @property
    def discovery(self) -> Discovery:
        """What the server serves.

        Raises:
            TypeError: the requester this clientset was given answers no paths of one's own, as `RESTClient.raw` does.
        """
        if not isinstance(self.requester, Raw):
            raise TypeError(f"{self.requester!r} can't be asked what is served: give a RESTClient or a fake's")
        return Discovery(self.requester)

    def close(self) -> None:
        """Close the connections this clientset opened; shared ones stay open."""
        if self._own and isinstance(self.requester, RESTClient):
            self.requester.close()
