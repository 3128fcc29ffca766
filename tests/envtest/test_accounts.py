"""Service accounts of managers under test: permissions of their roles, and reports of missing ones."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from clientgo.envtest import BundledServer, Environment
from clientgo.envtest.accounts import ManagerAccount
from clientgo.errors import ConfigError, Forbidden
from clientgo.kubernetes.clients.core_v1 import PodClient
from clientgo.kubernetes.types.core_v1 import ConfigMap, Namespace, ResourceQuota, ResourceQuotaSpec
from clientgo.kubernetes.types.rbac_v1 import ClusterRole, PolicyRule
from clientgo.manager import DirectClient
from clientgo.meta import ObjectMeta, ObjectName, OwnerReference, replace
from clientgo.rest import RESTClient

pytestmark = pytest.mark.integration

ROLE = """\
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: manager-role, namespace: elsewhere}
rules:
- {apiGroups: [""], resources: [configmaps], verbs: [get, create]}
"""
NAME = ObjectName("default", "one")
OWNERS = (OwnerReference(api_version="v1", kind="ConfigMap", name="one", uid="1"),)


@pytest.fixture(scope="module")
def environment() -> Iterator[Environment]:
    environment = Environment(server=BundledServer(secure=True, owner_references_permissions=True))
    with environment:
        yield environment


@pytest.fixture
def account(environment: Environment, tmp_path: Path) -> Iterator[ManagerAccount]:
    role = tmp_path / "role.yaml"
    role.write_text(ROLE)
    with ManagerAccount(environment, role) as account:
        yield account


def test_account_has_the_permissions_of_its_role_in_all_namespaces(account: ManagerAccount) -> None:
    with account.client() as client:
        created = DirectClient(client).create(ConfigMap(metadata=ObjectMeta(name="one", namespace="default")))
        assert DirectClient(client).get(ConfigMap, NAME) == created


def test_missing_permissions_are_reported_as_declarations(account: ManagerAccount) -> None:
    def use_missing_permissions(client: DirectClient) -> None:
        for act in (
            lambda: client.list(ConfigMap),
            lambda: client.delete(ConfigMap(metadata=ObjectMeta(name="one", namespace="default"))),
            lambda: client.create(Namespace(metadata=ObjectMeta(name="other"))),
            lambda: client.list(Namespace),
            lambda: client.list(Namespace),
        ):
            with pytest.raises(Forbidden):
                act()

    with pytest.raises(AssertionError) as failed, account.client() as requester:
        use_missing_permissions(DirectClient(requester))
    message, *declarations = str(failed.value).splitlines()
    assert message.endswith("role.yaml lacks permissions that were used; declare them and run make manifests:")
    assert declarations == [
        '@rbac(groups="core", resources="configmaps", verbs=("delete", "list"))',
        '@rbac(groups="core", resources="namespaces", verbs=("create", "list"))',
    ]


def test_missing_permission_for_commands_in_pods_is_reported(account: ManagerAccount) -> None:
    with pytest.raises(AssertionError) as failed, account.client() as requester:
        DirectClient(requester).generated(PodClient, "default").run("web", ["ls"])
    assert '@rbac(groups="core", resources="pods/exec", verbs="get")' in str(failed.value)


def owned_by(kind: str) -> ConfigMap:
    owner = OwnerReference(
        api_version="apps/v1", kind=kind, name="web", uid="1", controller=True, block_owner_deletion=True
    )
    return ConfigMap(metadata=ObjectMeta(name="owned", namespace="default", owner_references=(owner,)))


def test_missing_permission_to_block_an_owner_is_reported(account: ManagerAccount) -> None:
    with pytest.raises(AssertionError) as failed, account.client() as client:
        DirectClient(client).create(owned_by("Deployment"))
    assert '@rbac(groups="apps", resources="deployments/finalizers", verbs="update")' in str(failed.value)


def test_missing_permission_to_set_an_owner_is_reported(environment: Environment, tmp_path: Path) -> None:
    role = tmp_path / "role.yaml"
    role.write_text(ROLE.replace("create]", "create, patch]"))

    def set_owner(client: DirectClient) -> None:
        config = client.create(ConfigMap(metadata=ObjectMeta(name="free", namespace="default")))
        client.patch_to(config, replace(config, metadata=replace(config.metadata, owner_references=OWNERS)))

    account = ManagerAccount(environment, role)
    with pytest.raises(AssertionError) as failed, account, account.client() as requester:
        set_owner(DirectClient(requester))
    assert str(failed.value).endswith('\n@rbac(groups="core", resources="configmaps", verbs="delete")')


def test_refused_grant_is_reported_with_its_message(environment: Environment, tmp_path: Path) -> None:
    role = tmp_path / "role.yaml"
    role.write_text(
        ROLE + "- {apiGroups: [rbac.authorization.k8s.io], resources: [clusterroles], verbs: [create, list]}\n"
    )
    secrets = PolicyRule(api_groups=("",), resources=("secrets",), verbs=("get",))
    account = ManagerAccount(environment, role)
    with pytest.raises(AssertionError, match="is attempting to grant"), account, account.client() as client:
        DirectClient(client).create(ClusterRole(metadata=ObjectMeta(name="secrets"), rules=(secrets,)))


QUOTA = ResourceQuota(
    metadata=ObjectMeta(name="none", namespace="default"), spec=ResourceQuotaSpec(hard={"count/configmaps": "0"})
)


def test_denial_by_admission_is_not_reported_as_a_missing_permission(
    environment: Environment, account: ManagerAccount
) -> None:
    with closing(RESTClient(environment.config)) as client:
        DirectClient(client).create(QUOTA)
    with account.client() as client, pytest.raises(Forbidden, match="exceeded quota"):
        DirectClient(client).create(ConfigMap(metadata=ObjectMeta(name="denied", namespace="default")))


def test_error_of_the_block_is_the_context_of_the_report(account: ManagerAccount) -> None:
    with pytest.raises(AssertionError) as failed, account.client() as client:
        DirectClient(client).list(Namespace)
    assert isinstance(failed.value.__context__, Forbidden)


def test_role_is_removed_at_the_end(environment: Environment, tmp_path: Path) -> None:
    role = tmp_path / "role.yaml"
    role.write_text(ROLE)
    with ManagerAccount(environment, role) as account:
        pass
    with pytest.raises(AssertionError), account.client() as client:
        DirectClient(client).get(ConfigMap, NAME)


def test_missing_role_is_an_error_that_names_the_command(environment: Environment, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"role\.yaml does not exist: run make manifests"):
        ManagerAccount(environment, tmp_path / "role.yaml").__enter__()
