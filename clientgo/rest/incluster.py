"""What a pod is given to reach its API server: two environment variables and the service account's files."""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from clientgo.errors import ConfigError

SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
"""Where Kubernetes mounts the service account's files (rest.InClusterConfig)."""

NOT_IN_CLUSTER = (
    "unable to load in-cluster configuration, KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must be defined"
)
"""client-go's own words, which people search for."""


class PodIdentity(msgspec.Struct, frozen=True):
    """How a pod reaches and trusts its API server; the token stays in its file, because it is replaced there."""

    host: str
    token_file: str
    ca_file: str
    namespace: str


def in_a_pod(environ: Mapping[str, str], folder: str = SERVICE_ACCOUNT) -> bool:
    """Whether this process runs in a pod with a service account (clientcmd's test: the variable and the token file)."""
    return (
        bool(environ.get("KUBERNETES_SERVICE_HOST") and environ.get("KUBERNETES_SERVICE_PORT"))
        and (Path(folder) / "token").is_file()
    )


def pod_identity(environ: Mapping[str, str], folder: str = SERVICE_ACCOUNT) -> PodIdentity:
    """What this pod was given.

    Raises:
        ConfigError: this is no pod, or it has no readable token.
    """
    host, port = environ.get("KUBERNETES_SERVICE_HOST", ""), environ.get("KUBERNETES_SERVICE_PORT", "")
    if not host or not port:
        raise ConfigError(NOT_IN_CLUSTER)
    token, ca = Path(folder) / "token", Path(folder) / "ca.crt"
    try:
        token.read_bytes()
    except OSError as error:
        raise ConfigError(f"the service account's token {token} can't be read: {error.strerror}") from error
    address = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
    # Without ca.crt the machine's own authorities decide, as in client-go.
    return PodIdentity(address, str(token), str(ca) if ca.is_file() else "", _namespace(environ, Path(folder)))


def _namespace(environ: Mapping[str, str], folder: Path) -> str:
    if named := environ.get("POD_NAMESPACE", ""):
        return named
    try:
        return (folder / "namespace").read_text(encoding="utf-8").strip() or "default"
    except (OSError, ValueError):
        return "default"
