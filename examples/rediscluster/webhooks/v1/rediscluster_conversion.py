"""How RedisCluster objects get from one version to another: through v1, the hub."""

from clientgo.webhook import Hub, WebhookServer

from api.v1.rediscluster_types import RedisCluster
from webhooks.v1alpha1 import rediscluster_conversion as v1alpha1

# +clientgo:scaffold:imports


class RedisClusterConversion:
    """Converts RedisCluster objects between all versions.

    The hub is best the version that is stored: let `storage=False` stand at the others, in their types.
    """

    def setup_with_server(self, server: WebhookServer) -> None:
        """Have the server ask this one."""
        hub = Hub(RedisCluster)
        v1alpha1.add_to(hub)
        # +clientgo:scaffold:spokes
        server.register_hub(hub)
