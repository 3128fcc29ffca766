"""REST client for an API server: configuration (`Config`), requests and watches.

`load_config()` finds a configuration as kubectl does; `RESTClient(config)` sends requests with it. Generated clientsets
use these two; few programs need the rest of the package.
"""

from typing import TYPE_CHECKING

from clientgo.internal.exports import on_demand

if TYPE_CHECKING:
    from clientgo.rest.client import RESTClient
    from clientgo.rest.config import Config
    from clientgo.rest.loading import in_cluster_config, load_config
else:
    __getattr__ = on_demand(
        __name__, {"client": "RESTClient", "config": "Config", "loading": "in_cluster_config load_config"}
    )

__all__ = ["Config", "RESTClient", "in_cluster_config", "load_config"]
