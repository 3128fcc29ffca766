"""Building a kind's webhooks at the paths in the manifests."""

from typing import Any

import pytest

from clientgo.kubernetes.types.core_v1 import Pod
from clientgo.webhook import WebhookServer, mutate_path, validate_path, webhook_managed_by
from tests.webhook.homes import (
    Home,
    HomeDefaulter,
    HomeV2,
    HomeValidator,
    answer_of,
    grown,
    home,
    posted,
    review,
    shrunk,
)


class Registered:
    """Registry that records registrations."""

    def __init__(self) -> None:
        self.handlers: dict[str, Any] = {}
        self.hubs: list[Any] = []

    def register(self, path: str, handler: Any) -> None:
        self.handlers[path] = handler

    def register_hub(self, hub: Any) -> None:
        self.hubs.append(hub)


@pytest.mark.feature("A-35")
def test_paths_are_those_of_kubebuilder() -> None:
    assert mutate_path(Home) == "/mutate-ajd-my-domain-v1-home"
    assert validate_path(Home) == "/validate-ajd-my-domain-v1-home"
    assert validate_path(Pod) == "/validate--v1-pod"


def test_all_webhooks_of_a_kind_are_registered() -> None:
    server = Registered()
    builder = webhook_managed_by(server).for_(HomeV2).with_conversion(Home, to_hub=grown, from_hub=shrunk)
    builder.complete()
    assert [hub.api_versions for hub in server.hubs] == [["ajd.my.domain/v2", "ajd.my.domain/v1"]]
    built = webhook_managed_by(server).for_(Home).with_defaulter(HomeDefaulter()).with_validator(HomeValidator())
    assert server.handlers == {}  # not before it is complete
    built.complete()
    assert list(server.handlers) == [mutate_path(Home), validate_path(Home)]


@pytest.mark.feature("C-34")
def test_custom_path_is_used() -> None:
    server = Registered()
    webhook_managed_by(server).for_(Home).with_validator(HomeValidator(), path="/strict").complete()
    assert list(server.handlers) == ["/strict"]


def test_wrong_use_is_rejected() -> None:
    server = Registered()
    with pytest.raises(ValueError, match="Home has no webhook: add a defaulter"):
        webhook_managed_by(server).for_(Home).complete()
    with pytest.raises(ValueError, match="Home already has a webhook at /mutate-ajd-my-domain-v1-home"):
        webhook_managed_by(server).for_(Home).with_defaulter(HomeDefaulter()).with_defaulter(HomeDefaulter())
    with pytest.raises(TypeError, match="mark it with @api_type"):
        webhook_managed_by(server).for_(object)  # type: ignore[type-var]  # that is what is shown
    defaulter: Any = HomeDefaulter()
    with pytest.raises(TypeError, match="has no method validate_create and no method validate_update"):
        webhook_managed_by(server).for_(Home).with_validator(defaulter)


def test_the_server_has_each_path_once() -> None:
    server = WebhookServer(port=0)
    webhook_managed_by(server).for_(Home).with_validator(HomeValidator()).complete()
    assert server.paths == [validate_path(Home)]
    with pytest.raises(ValueError, match="is already in use: choose another one"):
        webhook_managed_by(server).for_(Home).with_validator(HomeValidator()).complete()
    with pytest.raises(ValueError, match="it must start with /"):
        webhook_managed_by(server).for_(Home).with_validator(HomeValidator(), path="x").complete()
    convert = webhook_managed_by(server).for_(HomeV2).with_conversion(Home, to_hub=grown, from_hub=shrunk)
    convert.complete()
    with pytest.raises(ValueError, match=r"Home.ajd.my.domain already has a conversion"):
        convert.complete()
    assert repr(server) == "<WebhookServer :0: /convert, /validate-ajd-my-domain-v1-home>"


def test_registered_handler_is_called() -> None:
    server = WebhookServer(port=0)
    webhook_managed_by(server).for_(Home).with_validator(HomeValidator()).complete()
    [handler] = server._routes.values()
    assert answer_of(handler(posted(review("CREATE", home()))))["status"]["code"] == 422
