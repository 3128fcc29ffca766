"""What may not be in Home objects."""

from clientgo.meta.declarations import admission_webhook
from clientgo.webhook import AdmissionRequest, Warnings, WebhookServer, webhook_managed_by
from clientgo.webhook.field import Path, forbidden, invalid, raise_if_any

from api.v1.home_types import Home

PATH = "/validate-ajd-my-domain-v1-home"

SPEC = Path("spec")


# Put "delete" into verbs if deletions are to be judged too.
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
    """Judges Home objects: raises `clientgo.webhook.field.Errors` or `Denied`, and returns warnings, if any."""

    def validate_create(self, obj: Home, request: AdmissionRequest, /) -> Warnings:
        """Whether the object may be created."""
        rooms = obj.spec.rooms
        if rooms is not None and rooms < 1:
            raise_if_any([invalid(SPEC / "rooms", rooms, "a home has a room at least")])
        return ["so many rooms are hard to keep clean"] if rooms is not None and rooms > 50 else None

    def validate_update(self, old: Home, new: Home, request: AdmissionRequest, /) -> Warnings:
        """Whether the object may be changed so."""
        if old.spec.owner and new.spec.owner != old.spec.owner:
            raise_if_any([forbidden(SPEC / "owner", "a home is not handed on: create another")])
        return self.validate_create(new, request)

    def validate_delete(self, obj: Home, request: AdmissionRequest, /) -> Warnings:
        """Whether the object may be deleted."""
        return None

    def setup_with_server(self, server: WebhookServer) -> None:
        """Have the server ask this one."""
        webhook_managed_by(server).for_(Home).with_validator(self, path=PATH).complete()
