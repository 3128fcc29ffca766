from collections.abc import Callable
from pathlib import Path

import pytest
from clientgo.kubernetes.types.apps_v1 import Deployment, DeploymentStatus
from clientgo.kubernetes.types.core_v1 import Service
from clientgo.kubernetes.types.networking_v1 import Ingress
from clientgo.manager import Client, Manager, find_status_condition
from clientgo.meta import ApiObject, ObjectMeta, ObjectName, change, is_controlled_by, replace
from clientgo.perturb import change as changed
from clientgo.perturb import create, delete
from clientgo.reconcile import retry_on_conflict
from clientgo.testing.client import FakeClient
from clientgo.testing.eventually import eventually
from clientgo.typed import Scale

from api.v1.webapp_types import WebApp, WebAppSpec
from controllers.webapp_controller import WebAppReconciler, delete_backups
from tests.samples import sample

NAME = ObjectName("default", "shop")
META = ObjectMeta(name="shop", namespace="default", generation=1)
APP = WebApp(META, WebAppSpec("shop:1", replicas=2, host="shop.example.com"))


def conditions(client: FakeClient) -> dict[str, tuple[str, int | None]]:
    """Reconcile the app, and return the status and the generation of each condition."""
    WebAppReconciler(client).reconcile_request(NAME)
    result = client.get(WebApp, NAME).status.conditions
    return {item.type: (item.status, item.observed_generation) for item in result}


def roll_out(client: FakeClient, ready: int) -> None:
    """Write the status that the Deployment has with so many new pods."""
    pods = client.get(Deployment, NAME)
    status = DeploymentStatus(
        observed_generation=pods.metadata.generation,
        replicas=2,
        updated_replicas=ready,
        ready_replicas=ready,
        available_replicas=ready,
    )
    client.update_status(replace(pods, status=status))


@pytest.mark.parametrize("kind", [Deployment, Service, Ingress])
def test_app_owns_its_parts(kind: type[ApiObject]) -> None:
    client = FakeClient(APP)
    WebAppReconciler(client).reconcile_request(NAME)
    assert is_controlled_by(client.get(kind, NAME), client.get(WebApp, NAME))


def test_ingress_is_deleted_with_the_host() -> None:
    client = FakeClient(APP)
    WebAppReconciler(client).reconcile_request(NAME)
    client.update(change(client.get(WebApp, NAME), lambda app: app.spec.host).to(""))
    WebAppReconciler(client).reconcile_request(NAME)
    assert client.list(Ingress) == []


def test_ingress_of_others_is_kept() -> None:
    client = FakeClient(change(APP, lambda app: app.spec.host).to(""), Ingress(metadata=META))
    WebAppReconciler(client).reconcile_request(NAME)
    assert client.find(Ingress, NAME)


def test_changed_part_is_reverted() -> None:
    client = FakeClient(APP)
    WebAppReconciler(client).reconcile_request(NAME)
    client.writing(field_manager="kubectl").patch(client.get(Deployment, NAME), {"spec": {"replicas": 5}})
    WebAppReconciler(client).reconcile_request(NAME)
    assert client.get(Deployment, NAME).spec.replicas == 2


def test_conditions_follow_the_rollout_of_the_current_generation() -> None:
    client = FakeClient(APP)
    assert conditions(client) == {"Available": ("False", 1), "Progressing": ("True", 1)}
    roll_out(client, ready=2)
    assert conditions(client) == {"Available": ("True", 1), "Progressing": ("False", 1)}
    client.update(change(client.get(WebApp, NAME), lambda app: app.spec.image).to("shop:2"))
    assert conditions(client) == {"Available": ("False", 2), "Progressing": ("True", 2)}
    roll_out(client, ready=1)
    assert conditions(client) == {"Available": ("False", 2), "Progressing": ("True", 2)}


def test_status_is_written_only_if_it_changed() -> None:
    client = FakeClient(APP)
    WebAppReconciler(client).reconcile_request(NAME)
    client.clear_actions()
    WebAppReconciler(client).reconcile_request(NAME)
    assert {action.verb for action in client.writes} == {"apply"}


def test_deleted_app_is_cleaned_up_before_it_goes() -> None:
    client, cleaned = FakeClient(APP), list[str]()
    reconciler = WebAppReconciler(client, clean_up=lambda app: cleaned.append(app.metadata.name))
    reconciler.reconcile_request(NAME)
    client.delete(APP)
    reconciler.reconcile_request(NAME)
    assert (cleaned, client.find(WebApp, NAME)) == (["shop"], None)


def test_app_stays_until_the_clean_up_succeeds() -> None:
    def fail(app: WebApp) -> None:
        raise OSError("connection refused")

    client = FakeClient(APP)
    reconciler = WebAppReconciler(client, clean_up=fail)
    reconciler.reconcile_request(NAME)
    client.delete(APP)
    with pytest.raises(OSError, match="connection refused"):
        reconciler.reconcile_request(NAME)
    assert client.find(WebApp, NAME)


def test_only_backups_of_the_app_are_deleted(tmp_path: Path) -> None:
    for name in ("shop", "other"):
        (tmp_path / "default" / name).mkdir(parents=True)
    delete_backups(APP, tmp_path)
    delete_backups(APP, tmp_path)
    assert [path.name for path in tmp_path.glob("*/*")] == ["other"]


def test_sample_is_scaled_and_deleted_on_a_server(
    manager: Manager, client: Client, started: Callable[[], Manager]
) -> None:
    manager.add_reconciler(WebAppReconciler)
    started()
    app = manager.client.create(sample(WebApp, "web_v1_webapp.yaml", **NAME._asdict()))
    eventually(lambda: manager.api_reader.get(Ingress, NAME))
    typed = client.typed(WebApp, "default")

    scale = eventually(lambda: typed.get_scale("shop"), lambda scale: scale.status.selector)
    assert scale.spec.replicas == 2

    def scale_to_three() -> Scale:
        return typed.update_scale("shop", change(typed.get_scale("shop"), lambda s: s.spec.replicas).to(3))

    retry_on_conflict(scale_to_three)  # the controller writes the status meanwhile
    eventually(lambda: manager.api_reader.get(Deployment, NAME).spec.replicas == 3)
    available = eventually(
        lambda: find_status_condition(manager.api_reader.get(WebApp, NAME).status.conditions, "Available"),
        lambda result: result and result.observed_generation == 2,
    )
    assert available
    manager.client.delete(app)
    eventually(lambda: not manager.api_reader.find(WebApp, NAME))


def test_no_perturbation_changes_the_outcome(perturb: Callable[..., None]) -> None:
    without_host, newer = {"spec": {"host": None}}, {"spec": {"image": "shop:2", "host": "shop.example.com"}}
    perturb(WebAppReconciler, [create(APP), changed(APP, without_host), changed(APP, newer), delete(APP)])
