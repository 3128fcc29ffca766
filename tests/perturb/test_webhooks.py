"""Validating webhooks of the project, which the user's changes pass; what they deny shows nothing."""

import re
from contextlib import suppress

import pytest

pytest.importorskip("clientgo_apiserver")

from clientgo.errors import Invalid
from clientgo.kubernetes.types.core_v1 import ConfigMap, Namespace
from clientgo.manager import Client, Reconciler
from clientgo.meta import ObjectMeta, meta_for, replace
from clientgo.perturb import Scenario, change, create, delete, perturb, run_scenario
from clientgo.webhook import AdmissionRequest, Denied, Warnings, WebhookServer, webhook_managed_by
from tests.perturb.greetings import Greeting, greeting

TEAM = Namespace(metadata=ObjectMeta(name="team"))
INSIDE = replace(greeting(), metadata=ObjectMeta(name="a", namespace="team"))
STEPS = [create(TEAM), create(INSIDE), change(INSIDE, {"spec": {"text": "goodbye"}})]


class Labels(Reconciler[Greeting], owns=[ConfigMap], name="labels"):
    """Keeps a ConfigMap with the text as a label, and claims that it does even if the server rejects the label."""

    def reconcile(self, greeting: Greeting) -> None:
        with suppress(Invalid):
            self.client.apply(
                ConfigMap(metadata=meta_for(greeting, labels={"text": greeting.spec.text})), owner=greeting
            )
        status = replace(greeting.status, text=greeting.spec.text)
        if greeting.status != status:
            self.client.update_status(replace(greeting, status=status))


class GreetingValidator:
    """Denies a text that is not a label."""

    def validate_create(self, obj: Greeting, request: AdmissionRequest, /) -> Warnings:
        assert request.name == obj.metadata.name
        if not re.fullmatch("[a-z]{1,60}", obj.spec.text):
            raise Denied(f"{obj.spec.text!r} is not a label")
        return None

    def validate_update(self, old: Greeting, new: Greeting, request: AdmissionRequest, /) -> Warnings:
        assert old.metadata.uid == new.metadata.uid
        return self.validate_create(new, request)

    def validate_delete(self, obj: Greeting, request: AdmissionRequest, /) -> Warnings:
        return None

    def setup_with_server(self, server: WebhookServer) -> None:
        webhook_managed_by(server).for_(Greeting).with_validator(self).complete()


class NamespaceValidator:
    """Denies the deletion of a namespace with greetings."""

    def __init__(self, client: Client) -> None:
        self.client = client

    def validate_create(self, obj: Namespace, request: AdmissionRequest, /) -> Warnings:
        return None

    def validate_update(self, old: Namespace, new: Namespace, request: AdmissionRequest, /) -> Warnings:
        return None

    def validate_delete(self, obj: Namespace, request: AdmissionRequest, /) -> Warnings:
        if self.client.list(Greeting, namespace=obj.metadata.name):
            raise Denied("there are greetings")
        return None

    def setup_with_server(self, server: WebhookServer) -> None:
        webhook_managed_by(server).for_(Namespace).with_validator(self, path="/validate-v1-namespace").complete()


def register(server: WebhookServer, client: Client) -> None:
    GreetingValidator().setup_with_server(server)
    NamespaceValidator(client).setup_with_server(server)


def test_values_that_a_validator_denies_are_not_applicable() -> None:
    kinds = ["transition", "refused"]
    assert perturb(Labels, STEPS, only=kinds).failed, "the scenario does not show what it should"
    results = perturb(Labels, STEPS, only=kinds, webhooks=register)
    results.check()
    denials = [result.run.not_applicable for result in results if not result.is_applicable]
    text = "403 the validating webhook of Greeting denied the request: 'Not valid!' is not a label"
    assert any(each.endswith(text) for each in denials), denials
    assert len(denials) < len(results) - 1


def test_validator_reads_the_cluster() -> None:
    plan = "dependency:namespaces:team:deleted"
    [result] = perturb(Labels, STEPS, plans=[plan], webhooks=register)
    assert result.verdict.startswith(f"{plan}: not applicable: step 4 (delete namespaces team) failed: DELETE ")
    assert result.verdict.endswith(
        "/team: 403 the validating webhook of Namespace denied the request: there are greetings"
    )


def test_step_that_a_validator_denies_fails() -> None:
    perturb(Labels, [*STEPS, delete(INSIDE), delete(TEAM)], webhooks=register, plans=["reference"]).check()
    [reference] = run_scenario(Scenario(Labels, [*STEPS, delete(TEAM), delete(INSIDE)], webhooks=register))
    assert "scenario: step 4 (delete namespace team) failed" in reference.verdict


def test_what_the_server_refuses_is_not_validated() -> None:
    wrong = change(INSIDE, {"spec": {"text": 5}})
    [reference] = run_scenario(Scenario(Labels, [*STEPS, wrong], webhooks=register))
    assert "422" in reference.verdict
