"""Real programs are started, waited for and stopped; two scripts stand for them, because none are here."""

import os
import stat
import sys
from pathlib import Path

import pytest

from clientgo.envtest import Environment
from clientgo.envtest.controlplane import ControlPlane
from clientgo.errors import ConfigError
from clientgo.rest import RESTClient, load_config

ETCD = """
import http.server, urllib.parse
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.send_header("Content-Length", "2"); self.end_headers(); self.wfile.write(b"{}")
    def log_message(self, *_): pass
address = urllib.parse.urlsplit(flags["listen-client-urls"])
http.server.HTTPServer((address.hostname, address.port), Handler).serve_forever()
"""
APISERVER = """
import http.server, json, ssl, urllib.request
urllib.request.urlopen(flags["etcd-servers"] + "/health").read()
asked = 0
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        global asked
        asked += 1
        subject = [pair for part in self.connection.getpeercert()["subject"] for pair in part]
        body = json.dumps({"subject": subject, "mode": flags["authorization-mode"]}).encode()
        self.send_response(500 if asked == 1 else 200)
        self.send_header("Content-Length", str(len(body))); self.end_headers(); self.wfile.write(body)
    def log_message(self, *_): pass
server = http.server.HTTPServer((flags["bind-address"], int(flags["secure-port"])), Handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(flags["tls-cert-file"], flags["tls-private-key-file"])
context.load_verify_locations(flags["client-ca-file"])
context.verify_mode = ssl.CERT_REQUIRED
server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()
"""
HEAD = """#!{python}
import os, sys
open({marks!r} + "/" + os.path.basename(__file__), "w").write(str(os.getpid()))
flags = dict(one.removeprefix("--").partition("=")[::2] for one in sys.argv[1:])
"""


def programs(folder: Path, etcd: str = ETCD, apiserver: str = APISERVER) -> dict[str, str]:
    """Scripts in place of the programs, and the environment that names them; each notes its process' id in `marks`."""
    marks = folder / "marks"
    marks.mkdir()
    for name, text in (("etcd", etcd), ("kube-apiserver", apiserver)):
        path = folder / name
        path.write_text(HEAD.format(python=sys.executable, marks=str(marks)) + text, encoding="utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return {"KUBEBUILDER_ASSETS": str(folder)}


def is_running(folder: Path, name: str) -> bool:
    try:
        os.kill(int((folder / "marks" / name).read_text()), 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.e2e
def test_both_programs_run_until_the_environment_stops(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    environment = Environment(environ=programs(tmp_path), kubeconfig=kubeconfig)
    with environment as config:
        assert is_running(tmp_path, "etcd")
        assert is_running(tmp_path, "kube-apiserver")
        assert environment.server is None
        for known, name in (
            (load_config(kubeconfig=str(kubeconfig)), "kubernetes-admin"),
            (config, "kubernetes-admin"),
        ):
            client = RESTClient(known)
            answer = client.raw("GET", "/whoami")
            client.close()
            assert name.encode() in answer
            assert b'"mode": "RBAC"' in answer
        client = RESTClient(environment.add_user("bob", "team"))
        assert b'["organizationName", "team"], ["commonName", "bob"]' in client.raw("GET", "/whoami")
        client.close()
    assert not is_running(tmp_path, "etcd")
    assert not is_running(tmp_path, "kube-apiserver")
    assert not kubeconfig.exists()


@pytest.mark.parametrize("name", ["etcd", "kube-apiserver"])
def test_a_program_that_is_missing_is_named(tmp_path: Path, name: str) -> None:
    environ = programs(tmp_path)
    (tmp_path / name).unlink()
    with pytest.raises(ConfigError, match=f"there is no program {name} in it"):
        Environment(environ=environ)


@pytest.mark.e2e
def test_a_program_that_ends_is_told_with_its_last_words_and_leaves_nothing_running(tmp_path: Path) -> None:
    environment = Environment(environ=programs(tmp_path, apiserver="sys.exit('no such flag')"))
    with pytest.raises(ConfigError, match="kube-apiserver ended with status 1: no such flag"):
        environment.start()
    assert not is_running(tmp_path, "etcd")


@pytest.mark.feature("B-CR-13")
@pytest.mark.e2e
def test_one_that_never_gets_ready_is_given_up_in_time(tmp_path: Path) -> None:
    environ = programs(tmp_path, etcd="import time; print('waiting', flush=True); time.sleep(60)")
    environ["KUBEBUILDER_CONTROLPLANE_START_TIMEOUT"] = "1s500ms"
    with pytest.raises(ConfigError, match=r"etcd was not ready after 1\.5 s: waiting"):
        Environment(environ=environ).start()
    assert not is_running(tmp_path, "etcd")


@pytest.mark.feature("B-CR-13")
@pytest.mark.e2e
def test_one_that_does_not_end_is_made_to(tmp_path: Path) -> None:
    deaf = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    environ = programs(tmp_path, etcd=deaf + ETCD)
    environ["KUBEBUILDER_CONTROLPLANE_STOP_TIMEOUT"] = "300ms"
    with Environment(environ=environ):
        assert is_running(tmp_path, "etcd")
    assert not is_running(tmp_path, "etcd")


def test_a_time_limit_that_is_none_is_told(tmp_path: Path) -> None:
    environ = {**programs(tmp_path), "KUBEBUILDER_CONTROLPLANE_START_TIMEOUT": "soon"}
    with pytest.raises(ConfigError, match="START_TIMEOUT=soon is no duration"):
        ControlPlane(tmp_path, environ)


@pytest.mark.feature("B-CR-13")
def test_an_existing_cluster_comes_first_and_bundled_before_everything(tmp_path: Path) -> None:
    environ = programs(tmp_path)
    assert Environment(environ=environ).kind == "control plane"
    assert Environment(environ={**environ, "USE_EXISTING_CLUSTER": "true"}).kind == "existing cluster"
    assert Environment(environ=environ, bundled=True).kind == "bundled server"
    assert Environment(environ={}).kind == "bundled server"


def test_an_environment_says_whether_deployments_become_available_in_it(tmp_path: Path) -> None:
    environ = programs(tmp_path)
    assert Environment(environ={"USE_EXISTING_CLUSTER": "true"}).runs_controllers
    assert Environment(environ={}).runs_controllers
    assert not Environment(environ={}, simulate=False).runs_controllers
    assert not Environment(environ=environ).runs_controllers  # kube-apiserver alone
