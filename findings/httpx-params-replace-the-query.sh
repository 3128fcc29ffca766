#!/usr/bin/env bash
# httpx 0.28.1 (PyPI)
# Behaviour: params replace the query of the URL: "?watch=1" with the parameter labelSelector, or with params={}, is sent
#   without watch. Parameters of the Client do the same to the query of each request. requests 2.34.2 adds them.
# Expected: the parameters are added to the query.
# Matters: a watch becomes a list, and a URL with a continue token reads the first page again, without an error.
. "$(dirname "$0")/lib.sh"
pypi httpx==0.28.1 requests==2.34.2

observe python - <<'CODE'
import httpx
import requests

url, parameters = "http://server/api/v1/pods?watch=1", {"labelSelector": "a"}
print(httpx.Request("GET", url, params=parameters).url.query.decode())
print(repr(httpx.Request("GET", url, params={}).url.query.decode()))
print(httpx.Client(params=parameters).build_request("GET", url).url.query.decode())
print(requests.Request("GET", url, params=parameters).prepare().url.partition("?")[2])
CODE
expect "labelSelector=a
''
labelSelector=a
watch=1&labelSelector=a"
