#!/usr/bin/env bash
# kubernetes 37.0.2 (PyPI)
# Behaviour: SharedInformer.stop() of an idle, healthy informer logs an unexpected error with a traceback, and that the
#   informer reconnects; then it ends.
# Expected: nothing is logged: the caller asked for the end.
# Matters: every orderly end of a program looks like a failure to whoever counts errors in logs.
. "$(dirname "$0")/lib.sh"
pypi kubernetes==37.0.2

observe python - <<'CODE'
import logging

from fakeserver import Server
from kubernetes import client
from kubernetes.informer import SharedInformer


class Collector(logging.Handler):
    def emit(self, record):
        print(record.levelname, record.getMessage(), record.exc_info is not None)


logging.getLogger().addHandler(Collector())
server = Server()
configuration = client.Configuration()
configuration.host = server.url
core = client.CoreV1Api(client.ApiClient(configuration))
informer = SharedInformer(core.list_namespaced_config_map, namespace="default")
informer.start()
server.wait_for(lambda: server.watches)
server.wait_for(lambda: False, seconds=1)
informer.stop()
CODE
case $seen in *"Unexpected error in watch loop"*) seen="an error with a traceback: ${seen##* }" ;; esac
expect "an error with a traceback: True"
