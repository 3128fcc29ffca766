"""How connections and credentials come about, counted under client-go's names (`rest_client_*`)."""

from clientgo.metrics import NoMetrics, Provider, provider
from clientgo.rest.requestmetrics import LATENCY_BUCKETS


class ConnectionMetrics:
    """Counts for one host; events are rare, so that each metric is looked up anew. Does nothing without a provider."""

    def __init__(self, host: str, made_by: Provider | None = None) -> None:
        self._provider = provider() if made_by is None else made_by
        self._host = host
        self.enabled = not isinstance(self._provider, NoMetrics)

    def resolved(self, seconds: float) -> None:
        """The host's name was looked up, with or without success."""
        name, help_text = "rest_client_dns_resolution_duration_seconds", "DNS resolver latency in seconds, by host."
        self._provider.histogram(name, help_text, {"host": self._host}, buckets=LATENCY_BUCKETS).observe(seconds)

    def context(self, *, made: bool) -> None:
        """A connection was given its TLS settings: those at hand, or new ones."""
        name = "rest_client_transport_create_calls_total"
        help_text = "Connections by whether their TLS settings were at hand (hit) or made anew (miss)."
        self._provider.counter(name, help_text, {"result": "miss" if made else "hit"}).inc()

    def authority(self, reason: str) -> None:
        """A certificate authority's file was looked at again: updated, unchanged, or why it could not be used."""
        result = "success" if reason in ("updated", "unchanged") else "failure"
        name = "rest_client_transport_ca_reload_total"
        help_text = "Number of times a CA file was read again, by result and reason."
        self._provider.counter(name, help_text, {"result": result, "reason": reason}).inc()

    def plugin(self, call_status: str, code: int) -> None:
        """A credential plugin was run; its exit code is 0 exactly when it worked."""
        name = "rest_client_exec_plugin_call_total"
        help_text = "Number of calls to an exec plugin, by what came of them and its exit code."
        self._provider.counter(name, help_text, {"code": str(code), "call_status": call_status}).inc()
