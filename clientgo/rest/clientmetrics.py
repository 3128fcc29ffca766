"""Metrics of requests, connections and credentials, under client-go's names (`rest_client_*`)."""

from clientgo.metrics import Counter, Histogram, NoMetrics, Provider, guarded, safe_provider

LATENCY_BUCKETS = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)
SIZE_BUCKETS = (64, 256, 512, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216)

ERROR = "<error>"
"""The code of a request without a response."""


class RequestMetrics:
    """Metrics of the requests to one host. Each metric is looked up once; without a provider, nothing is recorded."""

    def __init__(self, provider: Provider, host: str) -> None:
        self.enabled = not isinstance(provider, NoMetrics)
        self._provider = provider
        self._host = host
        # Filled by several threads; the last to find an entry missing wins, and all get the same metric.
        self._counters: dict[tuple[str, str, str], Counter] = {}
        self._histograms: dict[tuple[str, str], Histogram] = {}

    def answered(self, method: str, code: str, seconds: float, sent: int, received: int) -> None:
        """Record one finished attempt; sizes are bytes of body."""
        self._counter(
            "rest_client_requests_total", "Number of HTTP requests, by code, method and host.", method, code
        ).inc()
        help_text = "Request latency in seconds, by verb and host."
        self._histogram("rest_client_request_duration_seconds", help_text, method, LATENCY_BUCKETS).observe(seconds)
        help_text = "Request size in bytes, by verb and host."
        self._histogram("rest_client_request_size_bytes", help_text, method, SIZE_BUCKETS).observe(sent)
        help_text = "Response size in bytes, by verb and host."
        self._histogram("rest_client_response_size_bytes", help_text, method, SIZE_BUCKETS).observe(received)

    def throttled(self, method: str, seconds: float) -> None:
        """Record the wait of a request for the client-side rate limiter."""
        help_text = "Client side rate limiter latency in seconds, by verb and host."
        name = "rest_client_rate_limiter_duration_seconds"
        self._histogram(name, help_text, method, LATENCY_BUCKETS).observe(seconds)

    def retried(self, method: str, code: str) -> None:
        """Record a retry."""
        help_text = "Number of request retries, by code, verb and host."
        self._counter("rest_client_request_retries_total", help_text, method, code).inc()

    def _counter(self, name: str, help_text: str, method: str, code: str) -> Counter:
        key = (name, method, code)
        counter = self._counters.get(key)
        if counter is None:
            verb = "method" if name == "rest_client_requests_total" else "verb"
            labels = {"code": code, verb: method, "host": self._host}
            counter = self._counters[key] = self._provider.counter(name, help_text, labels)
        return counter

    def _histogram(self, name: str, help_text: str, method: str, buckets: tuple[float, ...]) -> Histogram:
        key = (name, method)
        histogram = self._histograms.get(key)
        if histogram is None:
            labels = {"verb": method, "host": self._host}
            histogram = self._histograms[key] = self._provider.histogram(name, help_text, labels, buckets=buckets)
        return histogram


class ConnectionMetrics:
    """Metrics of the connections to one host; rare, so each metric is looked up every time."""

    def __init__(self, host: str, made_by: Provider | None = None) -> None:
        self._provider = safe_provider() if made_by is None else guarded(made_by)
        self._host = host
        self.enabled = not isinstance(self._provider, NoMetrics)

    def resolved(self, seconds: float) -> None:
        """Record the duration of a name resolution, successful or not."""
        name, help_text = "rest_client_dns_resolution_duration_seconds", "DNS resolver latency in seconds, by host."
        self._provider.histogram(name, help_text, {"host": self._host}, buckets=LATENCY_BUCKETS).observe(seconds)

    def context(self, *, created: bool) -> None:
        """Record whether a connection used the cached TLS context or a new one."""
        name = "rest_client_transport_create_calls_total"
        help_text = "Number of connections by TLS context: cached (hit) or new (miss)."
        self._provider.counter(name, help_text, {"result": "miss" if created else "hit"}).inc()

    def authority(self, reason: str) -> None:
        """Record a check of a CA file; `reason` is updated, unchanged, or the cause of the failure."""
        result = "success" if reason in ("updated", "unchanged") else "failure"
        name = "rest_client_transport_ca_reload_total"
        help_text = "Number of times a CA file was read again, by result and reason."
        self._provider.counter(name, help_text, {"result": result, "reason": reason}).inc()

    def plugin(self, call_status: str, code: int) -> None:
        """Record a call of a credential plugin; the exit code is 0 exactly if it succeeded."""
        name = "rest_client_exec_plugin_call_total"
        help_text = "Number of calls to an exec plugin, by what came of them and its exit code."
        self._provider.counter(name, help_text, {"code": str(code), "call_status": call_status}).inc()
