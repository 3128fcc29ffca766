"""Where an API server is: its URL, from what a configuration says. Pure."""

from urllib.parse import SplitResult, urlsplit

from clientgo.errors import ConfigError
from clientgo.rest.config import Config


def server_url(config: Config) -> SplitResult:
    """The server's address; without a scheme, https if anything of TLS is configured, else http (client-go's rule)."""
    host = config.host.strip()
    if "://" not in host:
        tls = (
            config.ca_data or config.ca_file or config.insecure or config.server_name
            or config.client_certificate_data or config.client_certificate_file
        )  # fmt: skip
        host = f"{'https' if tls else 'http'}://{host}"
    try:
        url = urlsplit(host)
        usable = url.scheme in ("http", "https") and bool(url.hostname) and (url.port is None or url.port > 0)
    except ValueError:
        usable = False
    if not usable or url.query or url.fragment or url.username or not url.geturl().isascii() or " " in host:
        raise ConfigError(f"the server address {config.host!r} is not like https://host:port")
    return url
