"""Manager against a real API server: CRDs that come and go, unknown fields, finalizers, two clusters."""

import logging
import ssl
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from clientgo.envtest import BundledServer, Environment, server_from
from clientgo.envtest.crds import install, uninstall
from clientgo.errors import BadRequest, NotFound
from clientgo.kubernetes.clientset import Clientset
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.kubernetes.types.rbac_v1 import ClusterRole, ClusterRoleBinding, PolicyRule, RoleRef, Subject
from clientgo.manager import (
    CacheOptions,
    Client,
    ClusterOptions,
    ControllerBuilder,
    Finalizers,
    KindSource,
    Manager,
    Options,
    create_or_patch,
)
from clientgo.manager.predicates import LabelSelectorPredicate
from clientgo.manager.requesters import FieldValidation
from clientgo.meta import ObjectMeta, ObjectName, api_type, replace
from clientgo.metrics import provider, set_provider
from clientgo.rest import Config, RESTClient
from clientgo.stop.lifecycle import Group
from clientgo.testing.eventually import eventually
from controller.api.v1alpha1 import Foo, FooSpec
from tests.e2e.clusters import account_token, namespace

pytestmark = pytest.mark.integration

CRDS = Path(__file__).parent.parent.parent / "artifacts" / "crd"


@pytest.fixture(scope="module")
def config() -> Iterator[Config]:
    environment = Environment(crd_paths=[CRDS])
    try:
        yield environment.start()
    finally:
        environment.stop()


@pytest.fixture
def other() -> Iterator[Config]:
    """Return a second cluster, always a bundled server."""
    with Environment(server=BundledServer()) as started:
        yield started


@contextmanager
def running(*managers: Manager) -> Iterator[None]:
    with Group() as group:
        for item in managers:
            group.start(item.run, group.stop_event, name="manager")
        for item in managers:
            assert item.elected.wait(60.0)
        yield


@dataclass(frozen=True, slots=True)
class GizmoSpec:
    size: int = 1


@api_type(group="gizmos.example.com", version="v1", status=False)
@dataclass(frozen=True, slots=True)
class Gizmo:
    metadata: ObjectMeta
    spec: GizmoSpec = GizmoSpec()


@api_type(group="gizmos.example.com", version="v1", scope="Cluster", status=False)
@dataclass(frozen=True, slots=True)
class Zone:
    metadata: ObjectMeta
    spec: GizmoSpec = GizmoSpec()


def definition(kind: str, scope: str) -> dict[str, object]:
    plural, group = f"{kind.lower()}s", "gizmos.example.com"
    size = {"type": "object", "properties": {"size": {"type": "integer"}}}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": size}}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": scope,
            "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }


@pytest.mark.feature("A-17")
def test_kinds_of_both_scopes_are_there_while_their_definitions_are(config: Config) -> None:
    crds = [definition("Gizmo", "Namespaced"), definition("Zone", "Cluster")]
    manager, seen = Manager(config), set[ObjectName]()
    for cls in (Gizmo, Zone):
        ControllerBuilder(manager).for_(cls).complete(seen.add)
    install(manager.requester, crds)
    with namespace(config, "gizmos") as space, running(manager):
        manager.client.create(Gizmo(ObjectMeta(name="a", namespace=space)))
        manager.client.create(Zone(ObjectMeta(name="a")))
        eventually(lambda: seen, lambda result: result == {ObjectName(space, "a"), ObjectName("", "a")}, seconds=30.0)
        with pytest.raises(ValueError, match="a Zone cannot have a namespace"):
            manager.client.get(Zone, ObjectName(space, "a"))
        uninstall(manager.requester, crds)
        eventually(lambda: is_gone(lambda: manager.api_reader.list(Zone)), seconds=30.0)
        install(manager.requester, crds)
        eventually(lambda: manager.api_reader.list(Gizmo) == [], seconds=30.0)
        uninstall(manager.requester, crds)


def is_gone(call: Callable[[], object]) -> bool:
    try:
        call()
    except NotFound:
        return True
    return False


WORDS: tuple[FieldValidation, ...] = ("Ignore", "Warn")


@dataclass(frozen=True, slots=True)
class ColouredSpec:
    deployment_name: str
    colour: str = ""


@api_type(group="samplecontroller.k8s.io", version="v1alpha1", kind="Foo")
@dataclass(frozen=True, slots=True)
class ColouredFoo:
    """Foo with a field that its CRD does not have."""

    metadata: ObjectMeta
    spec: ColouredSpec


@pytest.mark.feature("B-CR-04", "C-38")
def test_unknown_field_is_rejected_warned_about_or_dropped(config: Config, caplog: pytest.LogCaptureFixture) -> None:
    manager = Manager(config, options=Options(name="fields", field_validation="Strict"))
    with namespace(config, "fields") as space, running(manager):
        foo = ColouredFoo(ObjectMeta(name="a", namespace=space), ColouredSpec("d", "blue"))
        with pytest.raises(BadRequest, match=r'unknown field "spec\.colour"'):
            manager.client.create(foo)
        messages = [logs_field(caplog, manager.client.writing(field_validation=item), foo) for item in WORDS]
        assert messages == [False, True]


def logs_field(caplog: pytest.LogCaptureFixture, client: Client, foo: ColouredFoo) -> bool:
    """Return whether the log mentions the field when the Foo is written; the server drops it."""
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        assert client.create(foo, dry_run=True).spec.colour == ""
    return any("spec.colour" in str(vars(record)) for record in caplog.records)


@pytest.mark.feature("B-CR-15")
def test_object_goes_once_every_finalizer_has_cleaned_up(config: Config) -> None:
    order = list[str]()
    with namespace(config, "finalizers") as space:
        cache = CacheOptions(namespaces=(space,))  # the finalizers are not for other Foos of the cluster
        manager = Manager(config, options=Options(name="finalizers", cache=cache))
        finalizers = Finalizers(manager.client)
        finalizers.register("example.com/bucket", lambda _: order.append("bucket"))
        finalizers.register("example.com/account", lambda _: order.append("account"))

        def reconcile(request: ObjectName) -> None:
            if (foo := manager.client.find(Foo, request)) is not None:
                finalizers.finalize(foo)

        ControllerBuilder(manager).for_(Foo).named("finalizers").complete(reconcile)
        with running(manager):
            key = ObjectName(space, "a")
            foo = manager.client.create(Foo(ObjectMeta(name="a", namespace=space), FooSpec("d")))
            eventually(lambda: len(manager.api_reader.get(Foo, key).metadata.finalizers) == 2, seconds=30.0)
            manager.client.delete(foo)
            eventually(lambda: is_gone(lambda: manager.api_reader.get(Foo, key)), seconds=30.0)
    assert order == ["bucket", "account"]


@pytest.mark.feature("B-CR-15")
def test_what_one_cluster_says_is_brought_about_in_another(config: Config, other: Config) -> None:
    manager = Manager(config, options=Options(name="here"))
    existing = manager.add_cluster(other, ClusterOptions(name="there"))

    def mirror(request: ObjectName) -> None:
        stored = manager.client.find(ConfigMap, request)
        if stored is not None:
            metadata = ObjectMeta(name=request.name, namespace="default", labels=stored.metadata.labels)
            create_or_patch(existing.client, ConfigMap(metadata=metadata), lambda copy: replace(copy, data=stored.data))

    mirrored = LabelSelectorPredicate("mirror=yes")
    built = ControllerBuilder(manager).for_(ConfigMap, mirrored).named("mirror")
    built.watches_source(KindSource(existing.cache, ConfigMap, predicates=(mirrored,))).complete(mirror)
    with namespace(config, "mirror") as space, running(manager):
        metadata = ObjectMeta(name="mirrored", namespace=space, labels={"mirror": "yes"})
        manager.client.create(ConfigMap(metadata=metadata, data={"a": "b"}))
        name = ObjectName("default", "mirrored")
        assert eventually(lambda: existing.client.get(ConfigMap, name), seconds=30.0).data == {"a": "b"}
        assert is_gone(lambda: manager.api_reader.get(ConfigMap, name))


def scraped(url: str, token: str = "") -> int:
    unverified = ssl.create_default_context()
    unverified.check_hostname, unverified.verify_mode = False, ssl.CERT_NONE
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        request = urllib.request.Request(f"{url}/metrics", headers=headers)
        with urllib.request.urlopen(request, timeout=30.0, context=unverified) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        error.close()
        return error.code


@pytest.mark.feature("A-24")
def test_metrics_are_served_to_authorized_users_only() -> None:
    before = provider()
    with (
        Environment(server=server_from(bundled=BundledServer(secure=True))) as config,
        namespace(config, "metrics") as space,
        closing(RESTClient(config)) as client,
        metrics_reader(Clientset(client), space),
    ):
        reader, stranger = (account_token(client, space, name) for name in ("reader", "stranger"))
        options = Options(name="m", metrics_bind_address="127.0.0.1:0", metrics_secure=True)
        manager = Manager(config, options=options)
        with running(manager):
            url = manager.urls["metrics"]
            assert [scraped(url, token) for token in ("", "made-up", stranger, reader)] == [401, 401, 403, 200]
    set_provider(before)


@contextmanager
def metrics_reader(admin: Clientset, space: str) -> Iterator[None]:
    """Allow the service account `reader` of a namespace to read metrics."""
    metadata, group = ObjectMeta(name=space), "rbac.authorization.k8s.io"
    rule = PolicyRule(non_resource_urls=("/metrics",), verbs=("get",))
    subject = Subject(kind="ServiceAccount", name="reader", namespace=space)
    role = RoleRef(api_group=group, kind="ClusterRole", name=space)
    roles, bindings = admin.rbac_v1.cluster_roles(), admin.rbac_v1.cluster_role_bindings()
    roles.create(ClusterRole(metadata=metadata, rules=(rule,)))
    try:
        bindings.create(ClusterRoleBinding(metadata=metadata, subjects=(subject,), role_ref=role))
        yield
    finally:
        with suppress(NotFound):
            bindings.delete(space)
        roles.delete(space)
