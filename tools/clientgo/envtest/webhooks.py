"""Webhook configurations for tests, installed so that the API server calls this machine.

A manifest names a Service, which does not exist in a test. So each `clientConfig` gets the URL of a local port, with
the Service's path, and the CA of the webhook server's certificate. The certificate is in `cert_dir`, as `tls.crt` and
`tls.key`, like a mounted Secret of type kubernetes.io/tls.
"""

import socket
import tempfile
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from clientgo.dynamic.client import dynamic_client
from clientgo.envtest.crds import (
    Object,
    install_objects,
    read_documents,
    read_objects,
    restore_objects,
    uninstall_objects,
)
from clientgo.internal.files import PRIVATE, write_files
from clientgo.meta.manifests import name_of
from clientgo.meta.objects import GroupVersionResource
from clientgo.rest.request import Requester
from clientgo.serving.certificates import CERTIFICATE, KEY

_AUTHORITY = "clientgo-envtest-webhook-ca"
_GROUP = "admissionregistration.k8s.io"
_RESOURCES = {
    "MutatingWebhookConfiguration": GroupVersionResource(_GROUP, "v1", "mutatingwebhookconfigurations"),
    "ValidatingWebhookConfiguration": GroupVersionResource(_GROUP, "v1", "validatingwebhookconfigurations"),
}


class WebhookInstall:
    """Address (`host`, `port`) and certificate (`cert_dir`) of the webhook server under test.

    Raises:
        ConfigError: a path does not exist or is not YAML.
    """

    def __init__(self, paths: Iterable[Path], *, host: str = "127.0.0.1", port: int = 0) -> None:
        """Read the configurations; port 0 chooses a free port."""
        # Imported here: it costs a tenth of a second that only environments with webhooks need.
        from clientgo.pki import CertificateAuthority  # noqa: PLC0415

        self._before: list[Object] = []
        self._configurations = [doc for doc in read_documents(paths) if doc.get("kind") in _RESOURCES]
        self._authority = CertificateAuthority.create(_AUTHORITY)
        self._folder = tempfile.TemporaryDirectory(prefix="clientgo-webhook-")
        self.host = host
        self.port = port or free_port(host)
        self.cert_dir = Path(self._folder.name)
        self.renew()

    def __repr__(self) -> str:
        return f"<WebhookInstall {len(self._configurations)} configurations for {self.host}:{self.port}>"

    @property
    def url(self) -> str:
        """Base URL of the webhook server."""
        return f"https://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"

    @property
    def ca(self) -> bytes:
        """Certificate (PEM) of the CA that signs the webhook server's certificate."""
        return self._authority.certificate

    def renew(self) -> None:
        """Write a new certificate and key to `cert_dir`, one after the other, unlike a mounted Secret."""
        certificate, key = self._authority.server(dict.fromkeys((self.host, "localhost", "127.0.0.1")))
        write_files({self.cert_dir / CERTIFICATE: certificate, self.cert_dir / KEY: key}, mode=PRIVATE)

    def install(self, requester: Requester) -> None:
        """Create the configurations, or update existing ones.

        Raises:
            ApiError: the server rejects one.
        """
        for kind, resource in _RESOURCES.items():
            configurations = self._of_kind(kind)
            existing = read_objects(requester, resource, configurations)
            self._before += [{**each, "kind": kind} for each in existing if not is_leftover(each)]
            install_objects(requester, resource, map(self._local, configurations))

    def deployed(self, requester: Requester) -> list[str]:
        """Return the cluster's other configurations that call one of these webhooks by a Service, as `kind/name`.

        kustomize, Helm and OLM rename configurations and Services, but neither webhooks nor paths.

        Raises:
            ApiError: the server rejects a request.
        """
        configurations = list[str]()
        for kind, resource in _RESOURCES.items():
            ours = self._of_kind(kind)
            names, called = set(map(name_of, ours)), {webhook for each in ours for webhook in _by_service(each)}
            existing = dynamic_client(resource, namespaced=False)(requester).list().items
            callers = (obj for obj in existing if not called.isdisjoint(_by_service(obj.to_dict())))
            configurations += [
                f"{kind.lower()}/{obj.metadata.name}" for obj in callers if obj.metadata.name not in names
            ]
        return configurations

    def uninstall(self, requester: Requester) -> None:
        """Delete the configurations, and restore those that existed before, without those of a killed program."""
        for kind, resource in _RESOURCES.items():
            before = [each for each in self._before if each["kind"] == kind]
            existed = {each["metadata"]["name"] for each in before}
            restore_objects(requester, resource, before)
            uninstall_objects(
                requester, resource, [each for each in self._of_kind(kind) if each["metadata"]["name"] not in existed]
            )

    def close(self) -> None:
        """Remove the certificate."""
        self._folder.cleanup()

    def local_crd(self, crd: Object) -> Object:
        """Return a CustomResourceDefinition whose conversion webhook, if any, is called on this machine."""
        conversion = crd["spec"].get("conversion") or {}
        if conversion.get("strategy") != "Webhook":
            return crd
        webhook = conversion.get("webhook") or {}
        called = {**webhook, "clientConfig": self._client_config(webhook, "/convert")}
        return {**crd, "spec": {**crd["spec"], "conversion": {**conversion, "webhook": called}}}

    def _of_kind(self, kind: str) -> list[Object]:
        return [configuration for configuration in self._configurations if configuration["kind"] == kind]

    def _local(self, configuration: Object) -> Object:
        hooks = configuration.get("webhooks") or ()
        return {
            **configuration,
            "webhooks": [{**hook, "clientConfig": self._client_config(hook, "/")} for hook in hooks],
        }

    def _client_config(self, hook: Mapping[str, Any], otherwise: str) -> Object:
        service = (hook.get("clientConfig") or {}).get("service") or {}
        url = f"{self.url}/{str(service.get('path') or otherwise).lstrip('/')}"
        return {"url": url, "caBundle": b64encode(self.ca).decode()}


def _by_service(configuration: Object) -> set[tuple[str, str]]:
    """Return the webhooks, by name and path, that a configuration calls by a Service."""
    hooks = configuration.get("webhooks") or ()
    services = ((hook["name"], (hook.get("clientConfig") or {}).get("service")) for hook in hooks)
    return {(name, str(service.get("path") or "/")) for name, service in services if service}


def is_leftover(obj: Object) -> bool:
    """Return whether a configuration or CRD calls the webhooks of an environment, which may not run any longer."""
    conversion = (obj.get("spec") or {}).get("conversion") or {}
    callers = [*(obj.get("webhooks") or ()), conversion.get("webhook") or {}]
    return any(_is_local(caller.get("clientConfig") or {}) for caller in callers)


def _is_local(client_config: Mapping[str, Any]) -> bool:
    if not client_config.get("url") or not client_config.get("caBundle"):
        return False
    # Imported here: it costs a tenth of a second that only such configurations need.
    from clientgo.pki import common_name  # noqa: PLC0415

    try:
        return common_name(b64decode(client_config["caBundle"])) == _AUTHORITY
    except ValueError:  # another program wrote it
        return False


def free_port(host: str = "127.0.0.1") -> int:
    """Return a port that was free a moment ago, for programs that cannot report which one they took."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])
