"""What a list or a watch is asked for, as a value that filters and factories can change before it is sent."""

import msgspec


class ListOptions(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The query of a list or watch (metav1.ListOptions); an empty value is not sent.

    `retry_lagging` is for the client alone: whether it asks again while the server says that it has not reached
    `resource_version` yet, or raises that at once.
    """

    label_selector: str = ""
    field_selector: str = ""
    resource_version: str = ""
    resource_version_match: str = ""
    limit: int = 0
    continue_: str = msgspec.field(default="", name="continue")
    timeout_seconds: int = 0
    watch: bool = False
    allow_watch_bookmarks: bool = False
    send_initial_events: bool = False
    retry_lagging: bool = True

    def query(self) -> dict[str, str]:
        """The query parameters, in the API's names."""
        return {name: _text(value) for name, value in msgspec.to_builtins(self).items() if name != "retryLagging"}


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
