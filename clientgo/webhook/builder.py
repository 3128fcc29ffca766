"""Builder of a kind's webhooks, at the paths in the manifests of kubebuilder and controller-gen.

    webhook_managed_by(server).for_(Home).with_defaulter(HomeDefaulter()).with_validator(HomeValidator()).complete()

The kind comes first, because the types of the other parts depend on it.
"""

from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

from clientgo.meta.objects import ApiObject
from clientgo.meta.scheme import ApiType, api_of
from clientgo.webhook.handlers import AdmissionHandler, Defaulter, Validator, defaulting, validating
from clientgo.webhook.hub import Hub

T = TypeVar("T", bound=ApiObject)
S = TypeVar("S", bound=ApiObject)


class WebhookRegistry(Protocol):
    """Registry of webhooks, such as a `WebhookServer`."""

    def register(self, path: str, handler: AdmissionHandler) -> None:
        """Handle admission requests at this path."""

    def register_hub(self, hub: Hub[Any]) -> None:
        """Convert objects of a kind."""


def mutate_path(kind: type) -> str:
    """Return the path of a kind's mutating webhook, such as `/mutate-ajd-my-domain-v1-home`."""
    return f"/mutate-{_path_suffix(api_of(kind))}"


def validate_path(kind: type) -> str:
    """Return the path of a kind's validating webhook, such as `/validate-ajd-my-domain-v1-home`."""
    return f"/validate-{_path_suffix(api_of(kind))}"


def webhook_managed_by(server: WebhookRegistry) -> "_Unnamed":
    """Start building webhooks; continue with `.for_(Home)`."""
    return _Unnamed(server)


class _Unnamed:
    """Builder without a kind."""

    def __init__(self, server: WebhookRegistry) -> None:
        self._server = server

    def for_(self, kind: type[T]) -> "WebhookBuilder[T]":
        """Build webhooks of this kind; TypeError if the class is not marked with `@api_type`."""
        return WebhookBuilder(self._server, kind)


class WebhookBuilder(Generic[T]):
    """Collects the webhooks of one kind. Each method returns the builder; wrong use raises ValueError."""

    def __init__(self, server: WebhookRegistry, kind: type[T]) -> None:
        api_of(kind)
        self._server = server
        self._kind = kind
        self._handlers: dict[str, AdmissionHandler] = {}
        self._hub: Hub[T] | None = None

    def with_defaulter(self, defaulter: Defaulter[T], *, path: str = "") -> "WebhookBuilder[T]":
        """Set defaults with this defaulter, at `path` or the path in the manifests."""
        return self._add(path or mutate_path(self._kind), defaulting(self._kind, defaulter))

    def with_validator(self, validator: Validator[T], *, path: str = "") -> "WebhookBuilder[T]":
        """Validate objects with this validator, at `path` or the path in the manifests."""
        return self._add(path or validate_path(self._kind), validating(self._kind, validator))

    def with_conversion(
        self,
        spoke: type[S],
        *,
        to_hub: Callable[[S], T] | None = None,
        from_hub: Callable[[T], S] | None = None,
    ) -> "WebhookBuilder[T]":
        """Convert between this kind, which becomes the hub, and another version; see `Hub.spoke`."""
        if self._hub is None:
            self._hub = Hub(self._kind)
        self._hub.spoke(spoke, to_hub=to_hub, from_hub=from_hub)
        return self

    def complete(self) -> None:
        """Register the webhooks with the server.

        Raises:
            ValueError: there is nothing to register, or a path is already in use.
        """
        if not self._handlers and self._hub is None:
            raise ValueError(f"{self._kind.__name__} has no webhook: add a defaulter, a validator or a conversion")
        for path, handler in self._handlers.items():
            self._server.register(path, handler)
        if self._hub is not None:
            self._server.register_hub(self._hub)

    def _add(self, path: str, handler: AdmissionHandler) -> "WebhookBuilder[T]":
        if path in self._handlers:
            raise ValueError(f"{self._kind.__name__} already has a webhook at {path}")
        self._handlers[path] = handler
        return self


def _path_suffix(api: ApiType) -> str:
    return f"{api.group.replace('.', '-')}-{api.version}-{api.kind.lower()}"
