"""Kubeconfig files: merged as in kubectl, one context selected and converted to a `Config`.

Of several files, the first that defines a cluster, a user or a context takes precedence, as does the first with a
current context. Relative paths are relative to the folder of their file. All errors are a `ConfigError` with one
sentence: the problem, the file and the fix.
"""

import base64
import binascii
import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from clientgo.errors import ConfigError
from clientgo.log import get_logger
from clientgo.meta.objects import EMPTY_MAP
from clientgo.meta.yamlio import InvalidYAML, read_document
from clientgo.rest.bounds import read_file
from clientgo.rest.config import Config, Delegated, Impersonation

log = get_logger(__name__)


class ClusterInfo(msgspec.Struct, frozen=True, rename="kebab", kw_only=True):
    """Address and trust of an API server (clientcmd/api/v1.Cluster)."""

    server: str = ""
    tls_server_name: str = ""
    insecure_skip_tls_verify: bool = False
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    proxy_url: str = ""
    disable_compression: bool = False
    extensions: tuple[dict[str, Any], ...] = ()

    def __repr__(self) -> str:
        return f"<ClusterInfo {self.server}>"  # a proxy's URL may hold a password


class AuthInfo(msgspec.Struct, frozen=True, rename="kebab", kw_only=True):
    """Credentials of a user (clientcmd/api/v1.AuthInfo)."""

    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: str = ""
    token: str = ""
    token_file: str = msgspec.field(default="", name="tokenFile")
    impersonate: str = msgspec.field(default="", name="as")
    impersonate_uid: str = msgspec.field(default="", name="as-uid")
    impersonate_groups: tuple[str, ...] = msgspec.field(default=(), name="as-groups")
    impersonate_extra: Mapping[str, tuple[str, ...]] = msgspec.field(default=EMPTY_MAP, name="as-user-extra")
    username: str = ""
    password: str = ""
    auth_provider: dict[str, Any] | None = None
    exec: dict[str, Any] | None = None

    def __repr__(self) -> str:
        present = [name for name in self.__struct_fields__ if getattr(self, name)]
        return f"<AuthInfo with {', '.join(present) or 'no credentials'}>"


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """A cluster, a user and a namespace (clientcmd/api/v1.Context)."""

    cluster: str = ""
    user: str = ""
    namespace: str = ""


class _Named(msgspec.Struct, frozen=True):
    name: str = ""
    cluster: ClusterInfo = ClusterInfo()
    user: AuthInfo = AuthInfo()
    context: Context = Context()


class _File(msgspec.Struct, frozen=True, rename="kebab"):
    clusters: tuple[_Named, ...] = ()
    users: tuple[_Named, ...] = ()
    contexts: tuple[_Named, ...] = ()
    current_context: str = ""


class Document(msgspec.Struct, frozen=True):
    """The content of the file at `path`."""

    path: str
    clusters: Mapping[str, ClusterInfo]
    users: Mapping[str, AuthInfo]
    contexts: Mapping[str, Context]
    current_context: str


def read(path: str) -> Document:
    """Read the kubeconfig at `path`.

    Raises:
        FileNotFoundError: the file does not exist.
        ConfigError: it is unreadable or invalid.
    """
    try:
        text = read_file(path).decode()
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "not UTF-8 text"
        raise ConfigError(f"cannot read the kubeconfig {path}: {reason}") from error
    return parse(text, path)


def parse(text: str, path: str) -> Document:
    """Parse the text of the kubeconfig at `path`."""
    try:
        data = read_document(text)
    except InvalidYAML as error:
        line = f" in line {error.line}" if error.line else ""
        raise ConfigError(f"invalid YAML in the kubeconfig {path}: {error}{line}") from error
    try:
        file = msgspec.convert({} if data is None else _without_nulls(data), _File)
    except msgspec.ValidationError as error:
        raise ConfigError(f"invalid kubeconfig {path}: {error}") from error
    folder = str(Path(path).parent.absolute())
    return Document(
        path,
        _unique([(n.name, _absolute_cluster(n.cluster, folder)) for n in file.clusters], "cluster", path),
        _unique([(n.name, _absolute_user(n.user, folder)) for n in file.users], "user", path),
        _unique([(n.name, n.context) for n in file.contexts], "context", path),
        file.current_context,
    )


def is_empty(document: Document) -> bool:
    """Report whether the file has no content, as after `touch config`."""
    return not (document.clusters or document.users or document.contexts or document.current_context)


def _first(documents: Sequence[Document], section: str, name: str) -> Any:
    return next((getattr(d, section)[name] for d in documents if name in getattr(d, section)), None)


def _no_context(name: str, source: str, names: list[str]) -> str:
    contents = f"it has {', '.join(n if n.isprintable() else repr(n) for n in names)}" if names else "it has none"
    if name:
        return f"context {name!r} not found in the kubeconfig {source} ({contents})"
    return f"no current context in the kubeconfig {source}: run `kubectl config use-context NAME` ({contents})"


def _no_cluster(name: str, context: str, source: str) -> str:
    if not name:
        how = f"kubectl config set-context {_argument(context)} --cluster NAME"
        return f"the context {context!r} in the kubeconfig {source} names no cluster: set it with `{how}`"
    return (
        f"the context {context!r} in the kubeconfig {source} names the cluster {name!r}, which does not exist: "
        f"add it with `kubectl config set-cluster {_argument(name)}`"
    )


def _argument(name: str) -> str:
    # Quoted for a shell, because users copy the command.
    return shlex.quote(name) if name.isprintable() else "NAME"


def _check(cluster: ClusterInfo, cluster_name: str, user: AuthInfo, user_name: str, source: str) -> None:
    if not cluster.server:
        raise ConfigError(f"the cluster {cluster_name!r} in the kubeconfig {source} has no server address")
    if cluster.certificate_authority_data and cluster.certificate_authority:
        raise ConfigError(_twice("certificate-authority", "cluster", cluster_name, source))
    if cluster.insecure_skip_tls_verify and (cluster.certificate_authority_data or cluster.certificate_authority):
        raise ConfigError(
            f"the cluster {cluster_name!r} in the kubeconfig {source} has both a certificate authority and "
            "insecure-skip-tls-verify: remove one of them"
        )
    _check_user(user, user_name, source)


def _check_user(user: AuthInfo, user_name: str, source: str) -> None:
    for key in ("client_certificate", "client_key"):
        if getattr(user, key) and getattr(user, f"{key}_data"):
            raise ConfigError(_twice(key.replace("_", "-"), "user", user_name, source))
    if (user.client_certificate or user.client_certificate_data) and not (user.client_key or user.client_key_data):
        raise ConfigError(f"the user {user_name!r} in the kubeconfig {source} has a client certificate without its key")
    if user.username and (user.token or user.token_file):
        raise ConfigError(f"the user {user_name!r} in the kubeconfig {source} has a token and a password: remove one")
    if not user.impersonate and (user.impersonate_uid or user.impersonate_groups or user.impersonate_extra):
        raise ConfigError(
            f"the user {user_name!r} in the kubeconfig {source} impersonates groups without a user: set as"
        )
    if user.exec is not None and (problem := _problem_of_plugin(user.exec, user.auth_provider)):
        raise ConfigError(f"the user {user_name!r} in the kubeconfig {source} has {problem}")


def _problem_of_plugin(plugin: Mapping[str, Any], auth_provider: Mapping[str, Any] | None) -> str:
    """Return what client-go rejects of a credential plugin; empty for nothing."""
    if auth_provider:
        return "an exec plugin and an auth-provider: remove one of them"
    if not plugin.get("command"):
        return "an exec plugin without a command"
    if not plugin.get("apiVersion"):
        return "an exec plugin without an apiVersion, such as client.authentication.k8s.io/v1"
    if any(not (isinstance(pair, Mapping) and pair.get("name")) for pair in plugin.get("env") or ()):
        return "an exec plugin with an env entry without a name"
    return ""


def _twice(key: str, what: str, name: str, source: str) -> str:
    return f"the {what} {name!r} in the kubeconfig {source} has both {key} and {key}-data: remove one of them"


def _absolute_cluster(cluster: ClusterInfo, folder: str) -> ClusterInfo:
    return msgspec.structs.replace(cluster, certificate_authority=_absolute(cluster.certificate_authority, folder))


def _absolute_user(user: AuthInfo, folder: str) -> AuthInfo:
    return msgspec.structs.replace(
        user,
        client_certificate=_absolute(user.client_certificate, folder),
        client_key=_absolute(user.client_key, folder),
        token_file=_absolute(user.token_file, folder),
        exec=_absolute_command(user.exec, folder),
    )


def _absolute_command(plugin: dict[str, Any] | None, folder: str) -> dict[str, Any] | None:
    # A name without a slash is looked up in PATH (clientcmd's GetAuthInfoFileReferences).
    command = plugin.get("command") if plugin else None
    if plugin is None or not isinstance(command, str) or os.sep not in command:
        return plugin
    return plugin | {"command": _absolute(command, folder)}


def _absolute(path: str, folder: str) -> str:
    return str(Path(folder) / path) if path else ""


_V = TypeVar("_V")


def _unique(pairs: list[tuple[str, _V]], what: str, path: str) -> dict[str, _V]:
    named: dict[str, _V] = {}
    for name, value in pairs:
        if name in named:
            raise ConfigError(f"the kubeconfig {path} has the {what} {name!r} twice: remove one of them")
        named[name] = value
    return named


def _without_nulls(value: Any) -> Any:
    # kubectl itself writes `clusters: null` into an empty file.
    if isinstance(value, dict):
        # Extensions have any content, which a plugin gets unchanged.
        return {
            str(key): item if key == "extension" else _without_nulls(item)
            for key, item in value.items()
            if item is not None
        }
    if isinstance(value, list):
        return [_without_nulls(item) for item in value if item is not None]
    return value


def config_from(paths: list[str], context: str, *, ignore_empty: bool = False) -> Config | None:
    """Return the configuration of `context`, or of the current context; None if none of the files exists.

    With `ignore_empty`, return None as well if the first of them is empty, as after `touch config`.

    Raises:
        ConfigError: a file or the context is invalid.
    """
    documents = _existing(paths)
    if not documents or (ignore_empty and is_empty(documents[0])):
        return None
    return _chosen(documents, context)


def _existing(paths: list[str]) -> list[Document]:
    documents = []
    for path in paths:
        try:
            documents.append(read(path))
        except FileNotFoundError:
            log.debug("kubeconfig does not exist", extra={"path": path})
    return documents


def _chosen(documents: list[Document], context: str) -> Config:
    source = " and ".join(document.path for document in documents)
    name = context or next((d.current_context for d in documents if d.current_context), "")
    chosen = _first(documents, "contexts", name) if name else None
    if chosen is None:
        raise ConfigError(_no_context(name, source, sorted({n for d in documents for n in d.contexts})))
    cluster = _first(documents, "clusters", chosen.cluster)
    if cluster is None:
        raise ConfigError(_no_cluster(chosen.cluster, name, source))
    user = _first(documents, "users", chosen.user)
    if user is None:
        # As in kubectl, a context may have no user, and the one that it names need not exist.
        if chosen.user:
            log.warning(
                "user of the context not found: no credentials are sent",
                extra={"user": chosen.user, "context": name, "kubeconfig": source},
            )
        user = AuthInfo()
    _check(cluster, chosen.cluster, user, chosen.user, source)
    return _config(cluster, user, source=source, context=name, namespace=chosen.namespace or "default")


def _config(cluster: ClusterInfo, user: AuthInfo, *, source: str, context: str, namespace: str) -> Config:
    for path in (cluster.certificate_authority, user.client_certificate, user.client_key, user.token_file):
        _check_readable(path, source)
    delegated = None
    if user.exec or user.auth_provider:
        delegated = Delegated(
            exec=user.exec or EMPTY_MAP,
            auth_provider=user.auth_provider or EMPTY_MAP,
            extensions=cluster.extensions,
            context=context,
        )
    return Config(
        cluster.server,
        token=user.token,
        token_file=user.token_file,
        username=user.username,
        password=user.password,
        client_certificate_data=_decoded(user.client_certificate_data, "client-certificate-data", source),
        client_certificate_file=user.client_certificate,
        client_key_data=_decoded(user.client_key_data, "client-key-data", source),
        client_key_file=user.client_key,
        ca_data=_decoded(cluster.certificate_authority_data, "certificate-authority-data", source),
        ca_file=cluster.certificate_authority,
        insecure=cluster.insecure_skip_tls_verify,
        server_name=cluster.tls_server_name,
        proxy_url=cluster.proxy_url,
        disable_compression=cluster.disable_compression,
        impersonate=Impersonation(
            user.impersonate, user.impersonate_uid, user.impersonate_groups, user.impersonate_extra
        ),
        # As in client-go, a token, password or certificate takes precedence over a plugin.
        delegated=None if _has_static_credentials(user) else delegated,
        namespace=namespace,
        source=f"context {context} of {source}",
    )


def _has_static_credentials(user: AuthInfo) -> bool:
    certificate = user.client_certificate or user.client_certificate_data
    return bool(user.token or user.token_file or user.username or certificate)


def _check_readable(path: str, source: str) -> None:
    if not path:
        return
    try:
        with Path(path).open("rb"):
            return
    except OSError as error:
        raise ConfigError(f"cannot read the file {path}, named in the kubeconfig {source}: {error.strerror}") from error


def _decoded(text: str, key: str, source: str) -> str:
    try:
        # As in Go: no characters but line breaks are ignored. An invalid text must not read as no authority.
        # Comments in a PEM file may have any encoding; the certificates are ASCII.
        return base64.b64decode(text.translate(_NO_LINES), validate=True).decode("utf-8", errors="replace")
    except (binascii.Error, ValueError) as error:
        raise ConfigError(f"invalid {key} in the kubeconfig {source}: expected PEM text in base64") from error


_NO_LINES = str.maketrans("", "", "\r\n")
