#!/usr/bin/env bash
# prometheus-client 0.26.0 (PyPI)
# Behaviour: start_http_server answers every path with 200 and the metrics: /healthz, /readyz and misspelled paths, too.
#   HEAD is refused with 405.
# Expected: the metrics at /metrics, and 404 elsewhere.
# Matters: a probe that names the metrics port always succeeds, whatever the state of the controller.
. "$(dirname "$0")/lib.sh"
pypi prometheus-client==0.26.0

observe python - <<'CODE'
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from prometheus_client import CollectorRegistry, Counter, start_http_server

registry = CollectorRegistry()
Counter("syncs", "Syncs", registry=registry)
server, _ = start_http_server(0, "127.0.0.1", registry)
address = f"http://127.0.0.1:{server.server_port}"
for path in ("/metrics", "/healthz", "/metrix"):
    with urlopen(address + path, timeout=5) as response:
        print(path, response.status, b"syncs_total" in response.read())
try:
    urlopen(Request(address + "/metrics", method="HEAD"), timeout=5)
except HTTPError as error:
    print("HEAD", error.code)
CODE
expect "/metrics 200 True
/healthz 200 True
/metrix 200 True
HEAD 405"
