"""Control plane: start, readiness, restart and stop, with two scripts in place of the programs."""

import json
import os
import stat
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from clientgo.envtest import BundledServer, ControlPlane, Environment, server_from
from clientgo.envtest.controlplane import ControlPlaneProcesses
from clientgo.errors import ConfigError
from clientgo.rest import Config, RESTClient, load_config

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
        files = {flag: open(path).read() for flag, path in flags.items() if path.endswith((".key", ".json"))}
        body = json.dumps({"subject": subject, "flags": flags, "files": files, "pid": os.getpid()}).encode()
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
    """Write scripts in place of the programs, and return their environment; each notes its process id in `marks`."""
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
    environment = Environment(server=server_from(programs(tmp_path), bundled=BundledServer(kubeconfig=kubeconfig)))
    with environment as config:
        assert is_running(tmp_path, "etcd")
        assert is_running(tmp_path, "kube-apiserver")
        assert environment.server is None
        for registered, name in (
            (load_config(kubeconfig=kubeconfig), "kubernetes-admin"),
            (config, "kubernetes-admin"),
        ):
            client = RESTClient(registered)
            response = client.raw("GET", "/whoami")
            client.close()
            assert name.encode() in response
            assert b'"authorization-mode": "RBAC"' in response
        client = RESTClient(environment.add_user("bob", "team"))
        assert b'["organizationName", "team"], ["commonName", "bob"]' in client.raw("GET", "/whoami")
        client.close()
    assert not is_running(tmp_path, "etcd")
    assert not is_running(tmp_path, "kube-apiserver")
    assert not kubeconfig.exists()


def asked(config: Config) -> Any:
    """Return what the script of the API server reports."""
    with closing(RESTClient(config, max_retries=0)) as client:
        return json.loads(client.raw("GET", "/whoami"))


@pytest.mark.e2e
def test_service_account_key_is_in_the_form_that_kube_apiserver_reads(tmp_path: Path) -> None:
    with Environment(server=server_from(programs(tmp_path))) as config:
        files = asked(config)["files"]
    for flag in ("service-account-key-file", "service-account-signing-key-file"):
        assert files[flag].startswith("-----BEGIN EC PRIVATE KEY-----\n")
        assert isinstance(load_pem_private_key(files[flag].encode(), None), EllipticCurvePrivateKey)


@pytest.mark.e2e
@pytest.mark.parametrize("kill", [False, True])
def test_restarted_api_server_has_its_address_and_credentials(tmp_path: Path, *, kill: bool) -> None:
    environment = Environment(server=server_from(programs(tmp_path)))
    with environment as config:
        before = asked(config)
        assert environment.control_plane is not None
        environment.control_plane.restart(kill=kill)
        after = asked(config)
        assert before.pop("pid") != after.pop("pid")
        assert before == after


@pytest.mark.e2e
def test_audit_log_admission_plugin_and_further_flags_reach_the_api_server(tmp_path: Path) -> None:
    log, further = tmp_path / "audit.log", ["--etcd-compaction-interval=1s", "--authorization-mode=Node,RBAC"]
    environment = Environment(
        server=server_from(
            programs(tmp_path), bundled=BundledServer(audit_log=log, owner_references_permissions=True), flags=further
        )
    )
    with environment as config:
        response = asked(config)
    flags, policy = response["flags"], json.loads(response["files"]["audit-policy-file"])
    assert flags["audit-log-path"] == str(log)
    assert flags["enable-admission-plugins"] == "OwnerReferencesPermissionEnforcement"
    assert (flags["etcd-compaction-interval"], flags["authorization-mode"]) == ("1s", "Node,RBAC")
    assert [rule["level"] for rule in policy["rules"]] == ["None", "Metadata"]


@pytest.mark.parametrize("name", ["etcd", "kube-apiserver"])
def test_program_that_is_missing_is_named(tmp_path: Path, name: str) -> None:
    environ = programs(tmp_path)
    (tmp_path / name).unlink()
    with pytest.raises(ConfigError, match=f"no program {name} in "):
        Environment(server=server_from(environ))


@pytest.mark.e2e
def test_failed_program_is_reported_with_its_output(tmp_path: Path) -> None:
    environment = Environment(server=server_from(programs(tmp_path, apiserver="sys.exit('no such flag')")))
    with pytest.raises(ConfigError, match="kube-apiserver ended with status 1: no such flag"):
        environment.start()
    assert not is_running(tmp_path, "etcd")


@pytest.mark.feature("B-CR-13")
@pytest.mark.e2e
def test_program_that_is_never_ready_times_out(tmp_path: Path) -> None:
    environ = programs(tmp_path, etcd="import time; print('waiting', flush=True); time.sleep(60)")
    environ["KUBEBUILDER_CONTROLPLANE_START_TIMEOUT"] = "1s500ms"
    with pytest.raises(ConfigError, match=r"etcd was not ready after 1\.5 s: waiting"):
        Environment(server=server_from(environ)).start()
    assert not is_running(tmp_path, "etcd")


@pytest.mark.feature("B-CR-13")
@pytest.mark.e2e
def test_program_that_does_not_stop_is_killed(tmp_path: Path) -> None:
    deaf = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    environ = programs(tmp_path, etcd=deaf + ETCD)
    environ["KUBEBUILDER_CONTROLPLANE_STOP_TIMEOUT"] = "300ms"
    with Environment(server=server_from(environ)):
        assert is_running(tmp_path, "etcd")
    assert not is_running(tmp_path, "etcd")


def test_invalid_time_limit_is_rejected(tmp_path: Path) -> None:
    environ = {**programs(tmp_path), "KUBEBUILDER_CONTROLPLANE_START_TIMEOUT": "soon"}
    with pytest.raises(ConfigError, match="invalid duration KUBEBUILDER_CONTROLPLANE_START_TIMEOUT=soon"):
        ControlPlaneProcesses(ControlPlane(assets=tmp_path, environ=environ))


@pytest.mark.feature("B-CR-13")
def test_existing_cluster_comes_first_and_bundled_before_everything(tmp_path: Path) -> None:
    environ = programs(tmp_path)
    assert Environment(server=server_from(environ)).kind == "control plane"
    assert Environment(server=server_from({**environ, "USE_EXISTING_CLUSTER": "true"})).kind == "existing cluster"
    assert Environment(server=BundledServer()).kind == "bundled server"
    assert Environment(server=server_from({})).kind == "bundled server"


def test_environment_knows_whether_it_runs_controllers(tmp_path: Path) -> None:
    environ = programs(tmp_path)
    assert Environment(server=server_from({"USE_EXISTING_CLUSTER": "true"})).runs_controllers
    assert Environment(server=server_from({})).runs_controllers
    assert not Environment(server=server_from({}, bundled=BundledServer(simulate=False))).runs_controllers
    assert not Environment(server=server_from(environ)).runs_controllers  # kube-apiserver alone
