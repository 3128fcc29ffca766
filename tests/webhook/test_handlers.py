"""Defaulters and validators: calls, results and errors."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal

import pytest

from clientgo.errors import ApiError, Conflict, Forbidden, NotFound
from clientgo.kubernetes.types.core_v1 import ConfigMap, Secret
from clientgo.meta import ObjectMeta, ObjectName, api_type, change, replace
from clientgo.meta.patches.jsonpatch import apply
from clientgo.testing.client import FakeClient
from clientgo.webhook import (
    AdmissionHandler,
    AdmissionRequest,
    AdmissionResponse,
    Denied,
    Warnings,
    allowed,
    defaulting,
    denied,
    multi_mutating,
    multi_validating,
    patched,
    validating,
)
from clientgo.webhook.admission import read_review
from tests.webhook.homes import GROUP, Home, HomeDefaulter, HomeValidator, home, review
from tests.webhook.recording import recorded

Object = dict[str, Any]


def request(*args: Any, **more: Any) -> AdmissionRequest:
    return read_review(json.dumps(review(*args, **more)).encode())


class Default:
    """Defaulter made of a function."""

    def __init__(self, change: Callable[[Home], Any]) -> None:
        self.change = change

    def default(self, obj: Home, request: AdmissionRequest) -> Home:
        built: Home = self.change(obj)
        return built


@pytest.mark.feature("A-16")
def test_the_result_of_defaulting_is_a_patch_of_what_changed() -> None:
    response = defaulting(Home, HomeDefaulter())(read_review(recorded("create")))
    assert response.allowed
    assert response.patch == [{"op": "add", "path": "/spec/rooms", "value": 1}]


@pytest.mark.feature("A-16")
def test_defaulter_is_called_for_creations_and_updates_only() -> None:
    defaulter = HomeDefaulter()
    handler = defaulting(Home, defaulter)
    assert handler(read_review(recorded("delete"))).allowed
    assert defaulter.asked == []
    assert handler(read_review(recorded("update"))).patch == ()
    assert [item.operation for item in defaulter.asked] == ["UPDATE"]


class Size(Enum):
    SMALL = "small"
    LARGE = "large"


@dataclass(frozen=True, slots=True)
class BoxSpec:
    policy: Literal["Allow", "Forbid"] = "Allow"
    sizes: tuple[Size, ...] = ()
    level: Literal[1, 2] | None = None
    label: str | None = None


@api_type(group=GROUP, version="v1", kind="Home", status=False)
@dataclass(frozen=True, slots=True)
class Box:
    metadata: ObjectMeta
    spec: BoxSpec = BoxSpec()


class Labeller:
    def default(self, obj: Box, request: AdmissionRequest, /) -> Box:
        return change(obj, lambda o: o.spec.label).to("x")


class Nothing:
    def validate_create(self, obj: Box, request: AdmissionRequest, /) -> None:
        return None

    def validate_update(self, old: Box, new: Box, request: AdmissionRequest, /) -> None:
        return None

    validate_delete = validate_create


@pytest.mark.parametrize("spec", [{"policy": "Sometimes"}, {"sizes": ["small", "huge"]}, {"level": 3}])
def test_value_outside_an_enum_is_left_to_the_schema_which_lists_the_supported_ones(spec: Object) -> None:
    created = request("CREATE", {**home(), "spec": spec})
    assert validating(Box, Nothing())(created).allowed
    response = defaulting(Box, Labeller())(created)
    assert response.allowed
    assert apply(created.object, response.patch)["spec"] == {**spec, "label": "x"}


def test_defaulter_with_a_wrong_result_is_a_bug() -> None:
    with pytest.raises(TypeError, match="the defaulter of Home returned a NoneType"):
        defaulting(Home, Default(lambda obj: None))(request("CREATE", home()))


class AsyncHome:
    """Defaulter and validator of coroutine functions."""

    async def default(self, obj: Home, request: AdmissionRequest) -> Home:
        return replace(obj, spec=replace(obj.spec, owner=request.operation))

    async def validate_create(self, obj: Home, request: AdmissionRequest) -> Warnings:
        return ["new homes are expensive"]

    async def validate_update(self, old: Home, new: Home, request: AdmissionRequest) -> Warnings:
        raise Denied("homes do not change")

    async def validate_delete(self, obj: Home, request: AdmissionRequest) -> Warnings:
        raise ValueError("homes stay")


async def deny(_: AdmissionRequest) -> AdmissionResponse:
    return denied("closed")


def test_webhooks_may_be_coroutine_functions() -> None:
    validate, create = validating(Home, AsyncHome()), request("CREATE", home())
    assert [item["value"] for item in defaulting(Home, AsyncHome())(create).patch] == ["CREATE"]
    assert validate(create).warnings == ("new homes are expensive",)
    assert validate(read_review(recorded("update"))).status.message == "homes do not change"
    assert validate(read_review(recorded("delete"))).status.code == 400
    assert multi_validating(validate, deny)(create).status.message == "closed"


@pytest.mark.feature("A-16")
def test_validator_gets_old_new_and_deleted_objects() -> None:
    validator = HomeValidator()
    handler = validating(Home, validator)
    assert handler(read_review(recorded("create"))).allowed
    shrunk = handler(read_review(recorded("update")))
    assert (shrunk.allowed, shrunk.status.code, shrunk.status.message) == (False, 403, "a home does not shrink")
    assert shrunk.status.reason == "Forbidden"
    assert shrunk.warnings == ("build another one",)
    assert handler(read_review(recorded("delete"))).status.message == "this one is a monument"
    assert [item.operation for item in validator.asked] == ["CREATE", "UPDATE", "DELETE"]


@pytest.mark.feature("A-15")
@pytest.mark.feature("B-CR-12")
def test_warnings_are_returned_for_allowed_requests() -> None:
    response = validating(Home, HomeValidator())(request("CREATE", home(owner="ann", rooms=200)))
    assert (response.allowed, response.warnings) == (True, ("that is a large home",))
    # What is easily written, and passes every type checker.
    assert Denied("no", warnings="one").warnings == ("one",)


@pytest.mark.feature("A-15")
def test_field_errors_become_an_api_servers_422() -> None:
    response = validating(Home, HomeValidator())(request("CREATE", home(rooms=0)))
    status = response.status
    assert (response.allowed, status.code, status.reason) == (False, 422, "Invalid")
    assert status.message == (
        'Home.ajd.my.domain "villa" is invalid: [spec.owner: Required value: a home needs an owner, '
        "spec.rooms: Invalid value: 0: must be at least 1]"
    )
    assert status.details is not None
    assert (status.details.group, status.details.kind, status.details.name) == ("ajd.my.domain", "Home", "villa")
    assert [(cause.field, cause.reason) for cause in status.details.causes] == [
        ("spec.owner", "FieldValueRequired"),
        ("spec.rooms", "FieldValueInvalid"),
    ]


def test_connect_is_allowed_and_an_unknown_operation_rejected() -> None:
    handler = validating(Home, HomeValidator())
    assert handler(request("CONNECT", home())).allowed
    response = handler(request("PAINT", home()))
    assert (response.status.code, response.status.message[:26]) == (400, "unknown operation 'PAINT':")


def test_object_of_another_kind_is_denied_with_a_hint() -> None:
    response = validating(Home, HomeValidator())(read_review(recorded("scale")))
    assert response.status.code == 400
    assert "got autoscaling/v1, Kind=Scale: check the rules" in response.status.message


def refusing(error: Exception) -> AdmissionHandler:
    def handle(request: AdmissionRequest) -> AdmissionResponse:
        raise error

    return handle


class Reading:
    """Validator of a function that reads the cluster."""

    def __init__(self, read: Callable[[FakeClient], object]) -> None:
        self.client = FakeClient()
        self.client.fail("get", Secret, Forbidden("secrets are not for webhooks"))
        self.read = read

    def validate_create(self, obj: Home, request: AdmissionRequest, /) -> None:
        self.read(self.client)

    def validate_update(self, old: Home, new: Home, request: AdmissionRequest, /) -> None: ...

    validate_delete = validate_create


@pytest.mark.parametrize(
    ("cls", "message"),
    [
        (ConfigMap, 'the webhook failed: configmaps "settings" not found'),
        (Secret, "the webhook failed: secrets are not for webhooks"),
    ],
)
def test_error_of_a_read_is_not_the_verdict_on_the_object(
    cls: type[ConfigMap | Secret], message: str, caplog: pytest.LogCaptureFixture
) -> None:
    """With its code, `kubectl delete --ignore-not-found` would take a denial for the object's absence."""
    name = ObjectName("default", "settings")
    for reader in (lambda client: client.get(cls, name), lambda client: client.api_reader.get(cls, name)):
        response = validating(Home, Reading(reader))(request("CREATE", home()))
        assert (response.allowed, response.status.code, response.status.reason) == (False, 500, "")
        assert response.status.message == message
    assert {record.message.partition(";")[0] for record in caplog.records} == {"request to the API server failed"}


@pytest.mark.parametrize("error", [NotFound("no such owner"), Forbidden("not yours"), Conflict("busy")])
def test_error_that_the_validator_itself_raises_is_its_verdict(error: ApiError) -> None:
    def read(client: FakeClient) -> None:
        if client.find(ConfigMap, ObjectName("default", "settings")) is None:
            raise error

    def read_and_translate(client: FakeClient) -> None:
        try:
            client.get(ConfigMap, ObjectName("default", "settings"))
        except NotFound as missing:
            raise error from missing

    for reader in (read, read_and_translate):
        response = validating(Home, Reading(reader))(request("CREATE", home()))
        assert (response.status.code, response.status.reason) == (error.code, error.reason)
        assert response.status.message == error.message


@pytest.mark.feature("B-CR-12")
def test_the_first_of_several_that_denies_decides() -> None:
    requested: list[str] = []

    def noting(name: str, response: AdmissionResponse) -> AdmissionHandler:
        def handle(request: AdmissionRequest) -> AdmissionResponse:
            requested.append(name)
            return response

        return handle

    first = noting("a", allowed().with_warnings("from a"))
    handler = multi_validating(first, noting("b", denied("no").with_warnings("from b")), noting("c", allowed()))
    response = handler(request("CREATE", home()))
    assert (response.allowed, response.status.message, requested) == (False, "no", ["a", "b"])
    assert response.warnings == ("from a", "from b")
    assert multi_validating(first)(request("CREATE", home())).warnings == ("from a",)
    assert multi_validating(refusing(Conflict("busy")))(request("CREATE", home())).status.code == 409


@pytest.mark.feature("B-CR-12")
def test_mutating_handlers_see_earlier_changes() -> None:
    def label(name: str) -> AdmissionHandler:
        def change(obj: Home) -> Home:
            return replace(obj, metadata=replace(obj.metadata, labels={**obj.metadata.labels, name: "1"}))

        return defaulting(Home, Default(change))

    handler = multi_mutating(label("a"), label("b"), lambda request: patched("", {"op": "remove", "path": "/spec"}))
    response = handler(request("CREATE", home()))
    updated = apply(home(), response.patch)
    assert updated["metadata"]["labels"] == {"a": "1", "b": "1"}
    assert "spec" not in updated
    assert multi_mutating(label("a"), refusing(Denied("no")))(request("CREATE", home())).patch == ()
    misfit = multi_mutating(lambda request: patched("", {"op": "remove", "path": "/none"}))
    assert misfit(request("CREATE", home())).status.code == 500
