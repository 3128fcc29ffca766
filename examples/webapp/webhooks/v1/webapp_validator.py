"""Validating webhook of WebApp."""

from clientgo.meta.declarations import admission_webhook
from clientgo.webhook import AdmissionRequest, Warnings, WebhookServer, webhook_managed_by
from clientgo.webhook.field import Path, invalid, raise_if_any

from api.v1.webapp_types import WebApp

PATH = "/validate-web-example-com-v1-webapp"

SPEC = Path("spec")


# Add "delete" to the verbs to validate deletions.
@admission_webhook(
    path=PATH,
    mutating=False,
    groups="web.example.com",
    resources="webapps",
    verbs=("create", "update"),
    versions="v1",
    name="vwebapp-v1.web.example.com",
)
class WebAppValidator:
    """Validates WebApp objects: raises `clientgo.webhook.field.Errors` or `Denied`, or returns warnings."""

    def validate_create(self, obj: WebApp, request: AdmissionRequest, /) -> Warnings:
        """Validate a creation."""
        if ":" not in obj.spec.image.rpartition("/")[2]:
            raise_if_any([invalid(SPEC / "image", obj.spec.image, "must have a tag or a digest")])
        return None

    def validate_update(self, old: WebApp, new: WebApp, request: AdmissionRequest, /) -> Warnings:
        """Validate an update; an image from before this rule does not prevent other changes."""
        if new.spec.image != old.spec.image:
            self.validate_create(new, request)
        if old.spec.host and new.spec.host != old.spec.host:
            return [f"links to {old.spec.host} stop working"]
        return None

    def validate_delete(self, obj: WebApp, request: AdmissionRequest, /) -> Warnings:
        """Validate a deletion."""
        return None

    def setup_with_server(self, server: WebhookServer) -> None:
        """Register the webhook with the server."""
        webhook_managed_by(server).for_(WebApp).with_validator(self, path=PATH).complete()
