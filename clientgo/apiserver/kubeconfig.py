"""Writes the kubeconfig by which kubectl and controllers find the bundled server.

It holds a token, so nobody else may read it; it is put in place in one step, so a reader never meets half of it. A file
that holds anything but an earlier kubeconfig of this kind is somebody's own configuration, and is left alone.
"""

import base64
import os
import tempfile
from pathlib import Path
from typing import Any

import yaml

from clientgo.meta.yamlio import to_yaml

NAME = "clientgo-embedded"
"""The name of the cluster, user and context in the file."""


class NotOurKubeconfig(Exception):
    """The path holds a configuration that was not written here; the message says so in one sentence."""


def kubeconfig(
    server: str,
    *,
    token: str = "",
    ca: bytes | None = None,
    client: tuple[bytes, bytes] = (b"", b""),
    namespace: str = "default",
) -> dict[str, Any]:
    """Give the kubeconfig of a server by its URL; token, CA and the client's certificate and key (PEM) may be empty."""
    user: dict[str, str] = {"token": token} if token else {}
    if client[0]:
        user["client-certificate-data"] = base64.b64encode(client[0]).decode()
        user["client-key-data"] = base64.b64encode(client[1]).decode()
    cluster: dict[str, Any] = {"server": server}
    if ca is not None:
        cluster["certificate-authority-data"] = base64.b64encode(ca).decode()
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
    """Write the kubeconfig with mode 0600, atomically, making its folder if need be, and give the absolute path.

    Raises `NotOurKubeconfig` for a file that was not written here, OSError where the place cannot be written.
    """
    path = path.expanduser().absolute()
    _refuse_foreign(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    text = to_yaml(kubeconfig(server, token=token, ca=ca, client=client))
    # mkstemp makes the file with mode 0600; the same folder, because a rename is atomic only within a file system.
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return path


def _refuse_foreign(path: Path) -> None:
    if not path.exists():
        return
    if path.stat().st_size == 0:
        return
    try:
        known = yaml.safe_load(path.read_text(encoding="utf-8"))
        names = {item["name"] for item in known["clusters"]}
    except (yaml.YAMLError, TypeError, KeyError, UnicodeDecodeError):
        names = set()
    if names != {NAME}:
        raise NotOurKubeconfig(f"{path} holds a configuration that was not written here; name another file")
