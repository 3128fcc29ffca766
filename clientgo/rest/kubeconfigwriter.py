"""Kubeconfig of a server of a test or development, for kubectl and controllers.

It contains a token, so only its owner may read it, and it is written atomically. A file with any other configuration is
never overwritten.
"""

import base64
from pathlib import Path
from typing import Any

from clientgo.errors import ConfigError
from clientgo.internal.files import PRIVATE, write_files
from clientgo.meta.yamlio import read_document, to_yaml

NAME = "clientgo-embedded"
"""Name of the cluster, user and context in the file."""


def kubeconfig(
    server: str,
    *,
    token: str = "",
    ca: bytes | None = None,
    client: tuple[bytes, bytes] = (b"", b""),
    namespace: str = "default",
) -> dict[str, Any]:
    """Return the kubeconfig of a server; token, CA and the client's certificate and key (PEM) may be empty."""
    user: dict[str, str] = {"token": token} if token else {}
    if client[0]:
        user["client-certificate-data"] = base64.b64encode(client[0]).decode()
        user["client-key-data"] = base64.b64encode(client[1]).decode()
    cluster: dict[str, Any] = {"server": server}
    if ca is not None:
        cluster["certificate-authority-data"] = base64.b64encode(ca).decode()
    elif server.startswith("http://"):
        cluster["insecure-skip-tls-verify"] = True  # without it the client of JavaScript refuses plain HTTP
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": NAME, "cluster": cluster}],
        "users": [{"name": NAME, "user": user}],
        "contexts": [{"name": NAME, "context": {"cluster": NAME, "user": NAME, "namespace": namespace}}],
        "current-context": NAME,
    }


def write_kubeconfig(
    path: Path, server: str, *, token: str = "", ca: bytes | None = None, client: tuple[bytes, bytes] = (b"", b"")
) -> Path:
    """Write the kubeconfig with mode 0600, atomically, creating its directory if needed; return the absolute path.

    Raises:
        ConfigError: the file contains another configuration.
        OSError: the file cannot be written.
    """
    path = path.expanduser().absolute()
    _check_ours(path)
    content = to_yaml(kubeconfig(server, token=token, ca=ca, client=client)).encode()
    write_files({path: content}, mode=PRIVATE)
    return path


def remove_kubeconfig(path: Path, server: str) -> None:
    """Remove the kubeconfig of a server, unless another one has written its own into the file since."""
    if path.exists() and _servers(path) == {NAME: server}:
        path.unlink(missing_ok=True)


def _check_ours(path: Path) -> None:
    if path.exists() and path.stat().st_size and _servers(path).keys() != {NAME}:
        raise ConfigError(f"{path} contains another configuration: choose another file")


def _servers(path: Path) -> dict[str, str]:
    """Return the server of each cluster of a kubeconfig; empty if the file is another one."""
    try:
        clusters = read_document(path.read_text(encoding="utf-8"))["clusters"]
        return {item["name"]: item["cluster"]["server"] for item in clusters}
    except (ValueError, TypeError, KeyError):
        return {}
