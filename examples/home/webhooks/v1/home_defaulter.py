"""Defaulting webhook of Home."""

from clientgo.meta import replace
from clientgo.meta.declarations import admission_webhook
from clientgo.webhook import AdmissionRequest, WebhookServer, webhook_managed_by

from api.v1.home_types import Home

PATH = "/mutate-ajd-my-domain-v1-home"


@admission_webhook(
    path=PATH,
    mutating=True,
    groups="ajd.my.domain",
    resources="homes",
    verbs=("create", "update"),
    versions="v1",
    name="mhome-v1.ajd.my.domain",
)
class HomeDefaulter:
    """Sets defaults of Home objects."""

    def default(self, obj: Home, request: AdmissionRequest, /) -> Home:
        """Return the object with its defaults."""
        rooms = 1 if obj.spec.rooms is None else obj.spec.rooms
        return replace(obj, spec=replace(obj.spec, owner=obj.spec.owner or request.user_info.username, rooms=rooms))

    def setup_with_server(self, server: WebhookServer) -> None:
        """Register the webhook with the server."""
        webhook_managed_by(server).for_(Home).with_defaulter(self, path=PATH).complete()
