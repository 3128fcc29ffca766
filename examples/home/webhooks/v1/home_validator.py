"""Validating webhook of Home."""

from clientgo.meta.declarations import admission_webhook
from clientgo.webhook import AdmissionRequest, Warnings, WebhookServer, webhook_managed_by
from clientgo.webhook.field import Path, forbidden, invalid, raise_if_any

from api.v1.home_types import Home

PATH = "/validate-ajd-my-domain-v1-home"

SPEC = Path("spec")


# Add "delete" to the verbs to validate deletions.
@admission_webhook(
    path=PATH,
    mutating=False,
    groups="ajd.my.domain",
    resources="homes",
    verbs=("create", "update"),
    versions="v1",
    name="vhome-v1.ajd.my.domain",
)
class HomeValidator:
    """Validates Home objects: raises `clientgo.webhook.field.Errors` or `Denied`, or returns warnings."""

    def validate_create(self, obj: Home, request: AdmissionRequest, /) -> Warnings:
        """Validate a creation."""
        rooms = obj.spec.rooms
        if rooms is not None and rooms < 1:
            raise_if_any([invalid(SPEC / "rooms", rooms, "a home has a room at least")])
        return ["so many rooms are hard to keep clean"] if rooms is not None and rooms > 50 else None

    def validate_update(self, old: Home, new: Home, request: AdmissionRequest, /) -> Warnings:
        """Validate an update, unless the object is being deleted: its finalizers must be removable."""
        if old.spec.owner and new.spec.owner != old.spec.owner:
            raise_if_any([forbidden(SPEC / "owner", "a home is not handed on: create another")])
        return None if new.metadata.deletion_timestamp else self.validate_create(new, request)

    def validate_delete(self, obj: Home, request: AdmissionRequest, /) -> Warnings:
        """Validate a deletion."""
        return None

    def setup_with_server(self, server: WebhookServer) -> None:
        """Register the webhook with the server."""
        webhook_managed_by(server).for_(Home).with_validator(self, path=PATH).complete()
