"""What a context of kubeconfig files comes to, as a `Config`: certificates decoded, files looked at."""

import base64
import binascii
import logging
from pathlib import Path

from clientgo.errors import ConfigError
from clientgo.meta.objects import EMPTY_MAP
from clientgo.rest import kubeconfig as files
from clientgo.rest.config import Config, Delegated, Impersonation

log = logging.getLogger(__name__)


def config_from(paths: list[str], context: str, *, ignore_empty: bool = False) -> Config | None:
    """The configuration `context`, or else the current context, stands for in the files that exist; None if none does.

    With `ignore_empty`, None also if the first of them says nothing, as `touch config` leaves it.

    Raises:
        ConfigError: a file is unusable, or the context; one sentence says which and why.
    """
    documents = _existing(paths)
    if not documents or (ignore_empty and files.is_empty(documents[0])):
        return None
    return _chosen(documents, context)


def _existing(paths: list[str]) -> list[files.Document]:
    documents = []
    for path in paths:
        try:
            documents.append(files.read(path))
        except FileNotFoundError:
            log.debug("kubeconfig does not exist", extra={"path": path})
    return documents


def _chosen(documents: list[files.Document], context: str) -> Config:
    choice = files.choose(documents, context)
    cluster, user, where = choice.cluster, choice.user, choice.source
    for path in (cluster.certificate_authority, user.client_certificate, user.client_key, user.token_file):
        _readable(path, where)
    delegated = None
    if user.exec or user.auth_provider:
        delegated = Delegated(
            exec=user.exec or EMPTY_MAP,
            auth_provider=user.auth_provider or EMPTY_MAP,
            extensions=cluster.extensions,
            context=choice.context,
        )
    return Config(
        cluster.server,
        token=user.token,
        token_file=user.token_file,
        username=user.username,
        password=user.password,
        client_certificate_data=_decoded(user.client_certificate_data, "client-certificate-data", where),
        client_certificate_file=user.client_certificate,
        client_key_data=_decoded(user.client_key_data, "client-key-data", where),
        client_key_file=user.client_key,
        ca_data=_decoded(cluster.certificate_authority_data, "certificate-authority-data", where),
        ca_file=cluster.certificate_authority,
        insecure=cluster.insecure_skip_tls_verify,
        server_name=cluster.tls_server_name,
        proxy_url=cluster.proxy_url,
        disable_compression=cluster.disable_compression,
        impersonate=Impersonation(
            user.impersonate, user.impersonate_uid, user.impersonate_groups, user.impersonate_extra
        ),
        # A token, password or certificate beside a plugin wins, as in client-go: the plugin is not run.
        delegated=None if _has_static_credentials(user) else delegated,
        namespace=choice.namespace,
    )


def _has_static_credentials(user: files.User) -> bool:
    certificate = user.client_certificate or user.client_certificate_data
    return bool(user.token or user.token_file or user.username or certificate)


def _readable(path: str, where: str) -> None:
    if not path:
        return
    try:
        with Path(path).open("rb"):
            return
    except OSError as error:
        raise ConfigError(
            f"the file {path}, named in the kubeconfig {where}, can't be read: {error.strerror}"
        ) from error


def _decoded(text: str, key: str, where: str) -> str:
    try:
        # Comments of a PEM file may be in any encoding; what counts in it is ASCII.
        return base64.b64decode(text, validate=False).decode("utf-8", errors="replace")
    except (binascii.Error, ValueError) as error:
        raise ConfigError(f"{key} in the kubeconfig {where} is not base64 of PEM text") from error
