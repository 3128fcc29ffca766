"""Defaulting webhook of WebApp."""

from clientgo.meta import change
from clientgo.meta.declarations import admission_webhook
from clientgo.webhook import AdmissionRequest, WebhookServer, webhook_managed_by

from api.v1.webapp_types import WebApp

PATH = "/mutate-web-example-com-v1-webapp"


@admission_webhook(
    path=PATH,
    mutating=True,
    groups="web.example.com",
    resources="webapps",
    verbs=("create", "update"),
    versions="v1",
    name="mwebapp-v1.web.example.com",
)
class WebAppDefaulter:
    """Sets defaults of WebApp objects."""

    def default(self, obj: WebApp, request: AdmissionRequest, /) -> WebApp:
        """Return the object with its defaults: an app that is reachable from outside gets a second pod."""
        if obj.spec.replicas is not None:
            return obj
        return change(obj, lambda o: o.spec.replicas).to(2 if obj.spec.host else 1)

    def setup_with_server(self, server: WebhookServer) -> None:
        """Register the webhook with the server."""
        webhook_managed_by(server).for_(WebApp).with_defaulter(self, path=PATH).complete()
