"""Webhooks under test: their configurations are installed so that the API server calls this machine.

A manifest names a Service that leads to the webhooks' pods; in a test there are none. So each `clientConfig` is given
the URL of a local port, with the Service's path, and the authority whose certificate the webhook server is to show. The
certificate is in `cert_dir`, as `tls.crt` and `tls.key`: what a cluster would mount from a Secret of kubernetes.io/tls.
"""

import os
import socket
import tempfile
from base64 import b64encode
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from clientgo.envtest.crds import (
    Object,
    install_objects,
    read_documents,
    read_objects,
    restore_objects,
    uninstall_objects,
)
from clientgo.meta.objects import GroupVersionResource
from clientgo.rest.request import Requester

_GROUP = "admissionregistration.k8s.io"
_RESOURCES = {
    "MutatingWebhookConfiguration": GroupVersionResource(_GROUP, "v1", "mutatingwebhookconfigurations"),
    "ValidatingWebhookConfiguration": GroupVersionResource(_GROUP, "v1", "validatingwebhookconfigurations"),
}


class WebhookInstall:
    """Where the webhook server under test is to listen (`host`, `port`) and find its certificate (`cert_dir`).

    Raises:
        ConfigError: a path does not exist or is not YAML.
    """

    def __init__(self, paths: Iterable[Path], *, host: str = "127.0.0.1", port: int = 0) -> None:
        """With port 0 it is a port that is free now."""
        # Loaded here: it costs a tenth of a second that environments without webhooks do not wait for.
        from clientgo.pki import CertificateAuthority  # noqa: PLC0415

        self._before: list[Object] = []
        self._configurations = [doc for doc in read_documents(paths) if doc.get("kind") in _RESOURCES]
        self._authority = CertificateAuthority.create("clientgo-webhook-ca")
        self._folder = tempfile.TemporaryDirectory(prefix="clientgo-webhook-")
        self.host = host
        self.port = port or _free_port(host)
        self.cert_dir = Path(self._folder.name)
        self.renew()

    def __repr__(self) -> str:
        return f"<WebhookInstall {len(self._configurations)} configurations for {self.host}:{self.port}>"

    @property
    def ca(self) -> bytes:
        """The authority's certificate (PEM): what trusts the webhook server."""
        return self._authority.certificate

    def renew(self) -> None:
        """Put another certificate and key into `cert_dir`; one after the other, as a mounted Secret never is."""
        certificate, key = self._authority.server(dict.fromkeys((self.host, "localhost", "127.0.0.1")))
        for name, content in (("tls.crt", certificate), ("tls.key", key)):
            self._replace(name, content)

    def install(self, requester: Requester) -> None:
        """Create the configurations, or bring existing ones to this state.

        Raises:
            ApiError: the server refuses one.
        """
        for kind, resource in _RESOURCES.items():
            configurations = self._of(kind)
            self._before += [{**one, "kind": kind} for one in read_objects(requester, resource, configurations)]
            install_objects(requester, resource, map(self._local, configurations))

    def uninstall(self, requester: Requester) -> None:
        """Delete the configurations, and restore those that existed before; absent ones are skipped."""
        for kind, resource in _RESOURCES.items():
            before = [one for one in self._before if one["kind"] == kind]
            existed = {one["metadata"]["name"] for one in before}
            restore_objects(requester, resource, before)
            added = [one for one in self._of(kind) if one["metadata"]["name"] not in existed]
            uninstall_objects(requester, resource, added)

    def close(self) -> None:
        """Remove the certificate."""
        self._folder.cleanup()

    def local_crd(self, crd: Object) -> Object:
        """Return a CustomResourceDefinition whose conversion webhook, if it has one, is called on this machine."""
        conversion = crd["spec"].get("conversion") or {}
        if conversion.get("strategy") != "Webhook":
            return crd
        webhook = conversion.get("webhook") or {}
        called = {**webhook, "clientConfig": self._client_config(webhook, "/convert")}
        return {**crd, "spec": {**crd["spec"], "conversion": {**conversion, "webhook": called}}}

    def _of(self, kind: str) -> list[Object]:
        return [one for one in self._configurations if one["kind"] == kind]

    def _local(self, configuration: Object) -> Object:
        hooks = configuration.get("webhooks") or ()
        return {
            **configuration,
            "webhooks": [{**hook, "clientConfig": self._client_config(hook, "/")} for hook in hooks],
        }

    def _client_config(self, hook: Mapping[str, Any], otherwise: str) -> Object:
        service = (hook.get("clientConfig") or {}).get("service") or {}
        host = f"[{self.host}]" if ":" in self.host else self.host
        url = f"https://{host}:{self.port}/{str(service.get('path') or otherwise).lstrip('/')}"
        return {"url": url, "caBundle": b64encode(self.ca).decode()}

    def _replace(self, name: str, content: bytes) -> None:
        descriptor, temporary = tempfile.mkstemp(dir=self.cert_dir)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        Path(temporary).replace(self.cert_dir / name)


def _free_port(host: str) -> int:
    # Taken by somebody else before the webhook server has it, it is an error of that server's: "address in use".
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as found:
        found.bind((host, 0))
        port: int = found.getsockname()[1]
        return port
