"""Pages of lists: a page continues the list of an earlier version, as on a server."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from clientgo.errors import BadRequest

Object = Mapping[str, Any]


class _Token(msgspec.Struct, frozen=True):
    version: int
    namespace: str
    name: str


class PageRequest(NamedTuple):
    """A requested page: at most `limit` objects (0 for all), of a past version behind an object if it continues."""

    limit: int
    token: _Token | None

    @property
    def version(self) -> int | None:
        """The version of the first page; None for the current one."""
        return None if self.token is None else self.token.version

    def of(self, objects: Sequence[Any], version: str, *, counted: bool) -> tuple[list[Any], dict[str, Any]]:
        """Return the objects of this page, and the metadata of the list; `counted` if it has the number of the rest."""
        remaining = [
            obj for obj in objects if self.token is None or _key(obj) > (self.token.namespace, self.token.name)
        ]
        metadata: dict[str, Any] = {"resourceVersion": version}
        if not 0 < self.limit < len(remaining):
            return remaining, metadata
        page = remaining[: self.limit]
        token = _Token(int(version), *_key(page[-1]))
        metadata["continue"] = urlsafe_b64encode(msgspec.json.encode(token)).decode()
        if counted:
            metadata["remainingItemCount"] = len(remaining) - len(page)
        return page, metadata


def read_page(limit: str, token: str) -> PageRequest:
    """Parse the options of a list.

    Raises:
        BadRequest: one of them is invalid.
    """
    try:
        number = int(limit or "0")
    except ValueError as error:
        raise BadRequest(f'strconv.ParseInt: parsing "{limit}": invalid syntax') from error
    if not token:
        return PageRequest(number, None)
    try:
        return PageRequest(number, msgspec.json.decode(urlsafe_b64decode(token), type=_Token))
    except ValueError as error:
        raise BadRequest(f"invalid continue token: {error}") from error


def _key(obj: Object) -> tuple[str, str]:
    return obj["metadata"].get("namespace", ""), obj["metadata"].get("name", "")
