"""Simulated outages: full disks, backups, certificates, tokens and connections."""

import ssl
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
import urllib3

from apiserver.tests.inprocess import CONFIG_MAPS, DEPLOYMENTS, Kube, deployment
from clientgo.envtest import BundledServer, Environment
from clientgo.errors import ApiError, ConnectionFailed, NotFound, Unauthorized
from clientgo.kubernetes.clientset import Clientset
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.meta import ObjectMeta
from clientgo.rest import Config, RESTClient
from clientgo_apiserver.api.users import ADMIN, authenticated
from clientgo_apiserver.server import ApiServer
from clientgo_apiserver.state import ServerOptions
from clientgo_apiserver.storage.sqlite import DataUnusable, load_or_create_key

pytestmark = pytest.mark.integration

NO_SPACE = "etcdserver: mvcc: database space exceeded"


def config_map(name: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name))


def config_of(server: ApiServer, token: str = "") -> Config:
    return Config(server.url, token=token, ca_data=(server.ca or b"").decode())


def ask(config: Config, path: str = "/api/v1/namespaces") -> bytes:
    with closing(RESTClient(config, max_retries=0)) as client:
        return client.raw("GET", path)


def handshake(server: ApiServer, ca: bytes) -> None:
    with urllib3.PoolManager(ssl_context=ssl.create_default_context(cadata=ca.decode()), retries=False) as http:
        http.request("GET", f"{server.url}/readyz")


def test_full_disk_rejects_writes_and_serves_reads(kube: Kube) -> None:
    kube.ok("POST", CONFIG_MAPS, {"metadata": {"name": "a"}})
    version = kube.api.state.store.revision
    kube.api.state.store.full = True
    assert kube.refused(500, "POST", CONFIG_MAPS, {"metadata": {"name": "b"}})["message"] == NO_SPACE
    assert kube.refused(500, "DELETE", f"{CONFIG_MAPS}/a")["message"] == NO_SPACE
    kube.ok("GET", f"{CONFIG_MAPS}/a")
    kube.ok("POST", f"{CONFIG_MAPS}?dryRun=All", {"metadata": {"name": "b"}})
    kube.api.state.store.full = False
    built = kube.ok("POST", CONFIG_MAPS, {"metadata": {"name": "b"}})
    assert int(built["metadata"]["resourceVersion"]) == version + 1


def test_controllers_resume_after_a_full_disk() -> None:
    kube = Kube(ServerOptions(ready_seconds=1), simulate=True)
    kube.ok("POST", DEPLOYMENTS, deployment("d", 2))
    kube.ok("POST", "/api/v1/namespaces", {"metadata": {"name": "n"}})
    kube.ok("POST", "/api/v1/namespaces/n/configmaps", {"metadata": {"name": "a"}})
    kube.api.state.store.full = True
    kube.clock.step(60)
    kube.scheduler.run()
    kube.api.state.store.full = False
    kube.ok("DELETE", "/api/v1/namespaces/n")
    kube.clock.step(1)
    kube.scheduler.run()
    assert kube.ok("GET", f"{DEPLOYMENTS}/d")["status"]["availableReplicas"] == 2
    kube.refused(404, "GET", "/api/v1/namespaces/n")


def test_the_disk_is_filled_and_emptied_from_outside_and_over_http() -> None:
    with ApiServer(enable_faults=True) as server, closing(Clientset(config_of(server))) as clientset:
        config_maps = clientset.core_v1.config_maps("default")
        server.faults.fill_disk()
        with pytest.raises(ApiError, match="database space exceeded"):
            config_maps.create(config_map("a"))
        server.faults.clear()
        config_maps.create(config_map("a"))
        with urllib3.PoolManager() as http:
            assert http.request("PUT", f"{server.url}/faults/disk", json={"full": True}).json() == {"full": True}
            assert http.request("PUT", f"{server.url}/faults/disk", json={"full": 1}).status == 400
            with pytest.raises(ApiError, match="database space exceeded"):
                config_maps.delete("a")
            http.request("DELETE", f"{server.url}/faults")
        config_maps.delete("a")


def test_every_connection_is_closed_on_request() -> None:
    with ApiServer(enable_faults=True) as server, urllib3.PoolManager(retries=False) as http:
        pods = f"{server.url}/api/v1/pods?watch=1"
        watch = http.request("GET", pods, preload_content=False)
        server.faults.disconnect()
        with pytest.raises(urllib3.exceptions.HTTPError):
            watch.read()
        watch = http.request("GET", pods, preload_content=False)
        assert http.request("POST", f"{server.url}/faults/disconnect").status == 200
        with pytest.raises(urllib3.exceptions.HTTPError):
            watch.read()


def test_server_restored_from_a_backup_has_earlier_versions(tmp_path: Path) -> None:
    with ApiServer(simulate=False) as server, closing(Clientset(config_of(server))) as clientset:
        clientset.core_v1.config_maps("default").create(config_map("before"))
        backed_up = server.run(lambda api: api.state.store.revision)
        server.backup(tmp_path / "backup")
        clientset.core_v1.config_maps("default").create(config_map("after"))
    with (
        ApiServer(data_dir=tmp_path / "backup", simulate=False) as server,
        closing(Clientset(config_of(server))) as clientset,
    ):
        assert server.run(lambda api: api.state.store.revision) == backed_up
        config_maps = clientset.core_v1.config_maps("default")
        config_maps.get("before")
        with pytest.raises(NotFound):
            config_maps.get("after")
        again = config_maps.create(config_map("other"))
        assert int(again.metadata.resource_version) == backed_up + 1


def test_backup_remembers_the_version_of_a_deletion(tmp_path: Path) -> None:
    with ApiServer(simulate=False) as server, closing(Clientset(config_of(server))) as clientset:
        clientset.core_v1.config_maps("default").create(config_map("a"))
        clientset.core_v1.config_maps("default").delete("a")
        last = server.run(lambda api: api.state.store.revision)
        server.backup(tmp_path / "backup")
    with ApiServer(data_dir=tmp_path / "backup", simulate=False) as server:
        assert server.run(lambda api: api.state.store.revision) == last


def test_expired_certificate_is_refused_until_it_is_renewed() -> None:
    with ApiServer(tls=True) as server:
        assert server.ca is not None
        server.certificates.renew(lasts=timedelta(seconds=-1))
        with pytest.raises(urllib3.exceptions.SSLError, match="expired"):
            handshake(server, server.ca)
        server.certificates.renew()
        handshake(server, server.ca)


def test_replaced_ca_must_be_trusted_anew() -> None:
    with ApiServer(tls=True, anonymous=False) as server:
        old = server.ca
        assert old is not None
        certificate, key = server.client_certificate("carol", "system:masters")
        server.certificates.replace_authority()
        with pytest.raises(urllib3.exceptions.SSLError):
            handshake(server, old)
        config = Config(
            server.url,
            ca_data=(server.ca or b"").decode(),
            client_certificate_data=certificate.decode(),
            client_key_data=key.decode(),
        )
        ask(config)


def test_expired_client_certificate_is_rejected() -> None:
    with ApiServer(tls=True, anonymous=False) as server:
        certificate, key = server.certificates.client("carol", ["system:masters"], timedelta(seconds=-1))
        config = Config(
            server.url,
            ca_data=(server.ca or b"").decode(),
            client_certificate_data=certificate.decode(),
            client_key_data=key.decode(),
        )
        with pytest.raises(ConnectionFailed):
            ask(config)


def test_removed_token_is_rejected() -> None:
    with ApiServer(anonymous=False) as server:
        server.add_user("t", authenticated("bob"))
        ask(config_of(server, "t"))
        server.remove_user("t")
        with pytest.raises(Unauthorized):
            ask(config_of(server, "t"))


def test_authority_and_tokens_outlive_a_restart_with_the_data(tmp_path: Path) -> None:
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    with ApiServer(tls=True, data_dir=tmp_path, anonymous=False, tokens={"admin": ADMIN}) as server:
        ca = server.ca
        with urllib3.PoolManager(ssl_context=ssl.create_default_context(cadata=(ca or b"").decode())) as http:
            headers = {"Authorization": "Bearer admin"}
            http.request("POST", server.url + accounts, json={"metadata": {"name": "robot"}}, headers=headers)
            built = http.request("POST", f"{server.url}{accounts}/robot/token", json={}, headers=headers).json()
    with ApiServer(tls=True, data_dir=tmp_path, anonymous=False) as server:
        assert server.ca == ca
        ask(config_of(server, built["status"]["token"]))


def test_the_administrators_token_outlives_a_restart_with_the_data(tmp_path: Path) -> None:
    with Environment(server=BundledServer(secure=True, data_dir=tmp_path)) as first:
        pass
    with Environment(server=BundledServer(secure=True, data_dir=tmp_path)) as second:
        assert (second.token, second.ca_data) == (first.token, first.ca_data)
        ask(second)
    assert {path.stat().st_mode & 0o077 for path in tmp_path.iterdir()} == {0}


def test_damaged_ca_is_reported_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_bytes(b"no certificate")
    with pytest.raises(DataUnusable, match=r"damaged \(ca.pem"):
        ApiServer(tls=True, data_dir=tmp_path).start()


def test_secret_is_created_once(tmp_path: Path) -> None:
    assert load_or_create_key(tmp_path / "new", "s", lambda: b"first") == b"first"
    assert load_or_create_key(tmp_path / "new", "s", lambda: b"second") == b"first"
    assert load_or_create_key(None, "s", lambda: b"third") == b"third"
    (tmp_path / "file").touch()
    with pytest.raises(DataUnusable, match="cannot use"):
        load_or_create_key(tmp_path / "file", "s", lambda: b"")
