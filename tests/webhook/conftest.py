"""Webhook server for Homes, and the certificate authority that its clients trust."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from clientgo.pki import CertificateAuthority
from clientgo.webhook import WebhookServer, webhook_managed_by
from tests.webhook.homes import Home, HomeValidator, certificate, running


@pytest.fixture
def authority(tmp_path: Path) -> CertificateAuthority:
    return certificate(tmp_path)


@pytest.fixture
def server(tmp_path: Path, authority: CertificateAuthority) -> Iterator[WebhookServer]:
    server = WebhookServer(port=0, host="127.0.0.1", cert_dir=tmp_path)
    webhook_managed_by(server).for_(Home).with_validator(HomeValidator()).complete()
    with running(server):
        yield server
