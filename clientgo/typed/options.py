"""Options of writes: field manager, dry run, and options of deletions."""

from typing import Literal

import msgspec

from clientgo.meta.codec import encode_value

Propagation = Literal["Background", "Foreground", "Orphan"]


def write_query(*, field_manager: str = "", dry_run: bool = False, force: bool = False) -> dict[str, str]:
    """Return the query parameters of a create, update, patch or apply."""
    query: dict[str, str] = {}
    if field_manager:
        query["fieldManager"] = field_manager
    if dry_run:
        query["dryRun"] = "All"
    if force:
        query["force"] = "true"
    return query


class Preconditions(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Preconditions of a deletion; otherwise the server returns a conflict (409)."""

    uid: str = ""
    resource_version: str = ""


class DeleteOptions(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The body of a deletion (metav1.DeleteOptions); `grace_period_seconds` None leaves it to the server."""

    grace_period_seconds: int | None = None
    propagation_policy: Propagation | None = None
    preconditions: Preconditions | None = None
    dry_run: tuple[str, ...] = ()

    def body(self) -> bytes | None:
        """Return the options as JSON; None without options, because no body is needed."""
        return None if self == _NO_DELETE_OPTIONS else encode_value(self)


_NO_DELETE_OPTIONS = DeleteOptions()
