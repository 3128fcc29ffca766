"""Test environments: a Kubernetes API to test against."""

from typing import TYPE_CHECKING

from clientgo.internal.exports import on_demand

__all__ = ["BundledServer", "ControlPlane", "Environment", "ExistingCluster", "Webhooks", "server_from"]

if TYPE_CHECKING:
    from clientgo.envtest.environment import Environment
    from clientgo.envtest.options import BundledServer, ControlPlane, ExistingCluster, Webhooks, server_from
else:
    __getattr__ = on_demand(
        __name__,
        {"environment": "Environment", "options": "BundledServer ControlPlane ExistingCluster Webhooks server_from"},
    )
