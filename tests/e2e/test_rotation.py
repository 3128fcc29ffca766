"""Credentials change while the controller runs, which continues without a restart."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from clientgo.envtest import BundledServer, Environment, server_from
from clientgo.meta import ObjectMeta
from clientgo.rest import Config
from clientgo.stop.lifecycle import Group
from clientgo.testing.eventually import eventually
from clientgo_apiserver.api.users import MASTERS, authenticated
from clientgo_apiserver.embedded import EmbeddedServer
from clientgo_apiserver.server import ApiServer
from controller.api.v1alpha1 import Foo, FooSpec
from controller.options import parse
from controller.program import run
from generated.clientset import Clientset
from tests.e2e.program import ROOT
from tests.e2e.replicas.trail import writes

pytestmark = [pytest.mark.integration, pytest.mark.timeout(90), pytest.mark.requires("replaceable credentials")]

SECONDS = 20.0


class Pod:
    """Running controller whose credentials are files, as in a pod, and its server."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = Environment(
            crd_paths=[ROOT / "artifacts" / "crd"],
            server=server_from(bundled=BundledServer(secure=True, audit_log=folder / "audit.log")),
        )
        self.admin = self.environment.start()
        self.stop = threading.Event()
        self.group = Group(stop=self.stop)
        self.count = 0

    @property
    def server(self) -> ApiServer:
        assert isinstance(self.environment.server, EmbeddedServer)
        return self.environment.server

    def file(self, name: str, content: str) -> str:
        path = self.folder / name
        path.write_text(content, encoding="utf-8")
        return str(path)

    def trust(self) -> str:
        assert self.server.ca is not None
        return self.file("ca.crt", self.server.ca.decode())

    def start(self, **credentials: Any) -> None:
        config = Config(self.admin.host, ca_file=self.trust(), **credentials)
        self.group.start(run, config, parse(["--leader-elect"]), self.stop, name="program")

    def syncs_another_foo(self) -> None:
        """Create a Foo and wait until the controller has created its Deployment."""
        self.count += 1
        name = f"foo-{self.count}"
        admin = Clientset(replace(self.admin, ca_data=self.server.ca.decode() if self.server.ca else ""))
        foos = admin.samplecontroller_v1alpha1.foos("default")
        foos.create(Foo(ObjectMeta(name=name), FooSpec(name, 1)))
        eventually(lambda: foos.get(name).status.available_replicas == 1, seconds=SECONDS)
        admin.close()
        assert self.group.alive() == ["program"]

    def end(self) -> None:
        self.stop.set()
        self.group.join(SECONDS)
        self.environment.stop()


@pytest.fixture
def pod(tmp_path: Path) -> Iterator[Pod]:
    built = Pod(tmp_path)
    try:
        yield built
    finally:
        built.end()


def test_rotated_service_account_token_is_picked_up(pod: Pod) -> None:
    account = authenticated("controller", MASTERS)
    pod.server.add_user("a-first-token", account)
    pod.start(token_file=pod.file("token", "a-first-token"))
    pod.syncs_another_foo()
    pod.server.add_user("a-second-token", account)
    pod.file("token", "a-second-token")
    pod.server.remove_user("a-first-token")
    pod.syncs_another_foo()


def test_renewed_client_certificate_is_picked_up(pod: Pod) -> None:
    certificate, key = pod.server.client_certificate("first", MASTERS)
    pod.start(
        client_certificate_file=pod.file("tls.crt", certificate.decode()),
        client_key_file=pod.file("tls.key", key.decode()),
    )
    pod.syncs_another_foo()
    certificate, key = pod.server.client_certificate("second", MASTERS)
    pod.file("tls.crt", certificate.decode())
    pod.file("tls.key", key.decode())
    pod.server.faults.disconnect()
    pod.syncs_another_foo()
    trail = writes(pod.folder / "audit.log")
    writers = [write.user for write in trail if write.foo and not write.user.startswith("system:")]
    assert [user for user, _ in groupby(writers)] == ["first", "second"]


def test_replaced_authority_is_picked_up(pod: Pod) -> None:
    """New connections are rejected until the file has the new authority, and succeed afterwards."""
    pod.server.add_user("an-only-token", authenticated("controller", MASTERS))
    pod.start(token="an-only-token")
    pod.syncs_another_foo()
    pod.server.certificates.replace_authority()
    pod.trust()
    pod.server.faults.disconnect()
    pod.syncs_another_foo()
