"""`clientgo doctor`: the state and fix of each check."""

import socket
import sys
from argparse import Namespace
from collections.abc import Iterator
from configparser import ConfigParser
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from clientgo.cli import doctor
from clientgo.cli.doctor import OK, PROBLEM, WARNING, Diagnosis, examine_cluster
from clientgo.cli.project import Project
from clientgo.clock import SYSTEM_CLOCK
from clientgo.dynamic.client import dynamic_client
from clientgo.envtest import BundledServer, Environment
from clientgo.envtest.crds import CRDS, install, read_crds
from clientgo.kubernetes.clientset import Clientset
from clientgo.meta import GroupVersionResource
from clientgo.meta.codec import from_dict
from clientgo.pki import CertificateAuthority
from clientgo.rest import Config, RESTClient
from clientgo.testing.clock import FakeClock
from clientgo.testing.eventually import eventually
from clientgo.testing.transport import FakeTransport, reply
from tests.cli.processes import free_port
from tests.cli.projects import FOO, ROOT, clientgo, foo_project
from tests.processes import Child

HOME = ROOT / "examples" / "home"
CRD = "homes.ajd.my.domain"


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    """Server with RBAC, without the project's CRDs."""
    kubeconfig = tmp_path_factory.mktemp("cluster") / "kubeconfig"
    built = Environment(server=BundledServer(secure=True, kubeconfig=kubeconfig))
    with built:
        yield built


def of_home(config: Config, user: Config | None = None) -> dict[str, Diagnosis]:
    """Check the cluster for examples/home; return the first finding about each subject."""
    result = list(examine_cluster(config, user or config, HOME, Project.read(HOME)))
    return {finding.subject: finding for finding in reversed(result)}


def metadata() -> ConfigParser:
    parser = ConfigParser()
    parser.read(ROOT / "setup.cfg")
    return parser


@pytest.mark.parametrize(
    ("version", "state"), [((3, 11, 0), OK), ((3, 14, 2), OK), ((3, 15, 0), WARNING), ((3, 10, 9), WARNING)]
)
def test_python_must_be_a_tested_version(version: tuple[int, ...], state: str) -> None:
    [finding] = doctor.check_python(version)
    assert finding.state == state


def test_versions_of_python_are_those_of_the_distribution() -> None:
    classifiers = metadata()["metadata"]["classifiers"].splitlines()
    for major, minor in doctor.PYTHONS:
        assert f"Programming Language :: Python :: {major}.{minor}" in classifiers
    major, minor = doctor.PYTHONS[1]
    assert f"Programming Language :: Python :: {major}.{minor + 1}" not in classifiers


@pytest.mark.parametrize(
    ("minor", "state", "fix"),
    [
        ("35", OK, ""),
        ("37+", OK, ""),
        ("38", OK, ""),
        ("39", WARNING, "upgrade clientgo"),
        ("34", WARNING, "kubectl explain"),
    ],
)
def test_skew_to_the_version_of_the_library_is_a_warning(minor: str, state: str, fix: str) -> None:
    version = {"major": "1", "minor": minor, "gitVersion": f"v1.{minor}.0"}
    client = RESTClient(Config("http://server"), transport=FakeTransport(reply(version)))
    [finding] = doctor.check_server(Clientset(client))
    assert finding.state == state
    assert fix in finding.message


def test_fields_that_an_older_server_would_drop_are_listed_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "desired.py").write_text("mount = VolumeMount(name='x', bind_mount_options=('noexec',))\n")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_desired.py").write_text("EvictionResponder()\n")
    assert list(doctor.check_fields(37, tmp_path)) == []
    [finding] = doctor.check_fields(36, tmp_path)
    assert finding.state == WARNING
    assert "would drop VolumeMount.bindMountOptions (since 1.37, desired.py:1)" in finding.message


@pytest.mark.parametrize(
    ("item", "other", "location"),
    [
        ({"a": [{"b": 1}]}, {"a": [{"b": 1}]}, ""),
        ({"a": [{"b": 1}]}, {"a": [{"b": 2}]}, ".a[0].b"),
        ({"a": [1]}, {"a": [1, 2]}, ".a"),
        ({"a": {}}, {"a": {"b": None}}, ".a.b"),
    ],
)
def test_difference_is_the_path_of_the_first_one(item: object, other: object, location: str) -> None:
    assert doctor.difference(item, other) == location


@pytest.mark.integration
def test_project_is_compared_with_the_cluster(environment: Environment) -> None:
    config = environment.add_user("admin", "system:masters")
    assert of_home(config)["CRD"] == Diagnosis(PROBLEM, "CRD", f"{CRD} is not installed: run make install")

    client = RESTClient(config)
    [crd] = read_crds([HOME / "config/crd/bases"])
    install(client, [crd])
    result = of_home(config)
    missing = result.pop("cert-manager")
    assert {finding.state for finding in result.values()} == {OK}
    assert missing == Diagnosis(
        WARNING,
        "cert-manager",
        "not installed here, which make deploy needs for the webhooks: install it, or clientgo upgrade"
        " --certificates=self-signed",
    )
    assert result["CRDs"].message == "1 installed, equal to config/crd"
    assert result["user"].message.startswith("admin (system:masters")

    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["description"] = "Older."
    install(client, [crd])
    client.close()
    assert of_home(config)["CRD"].message == (
        f"{CRD} differs from config/crd in spec.versions[0].schema.openAPIV3Schema.description: run make install"
    )


@pytest.mark.integration
def test_kind_of_another_project_must_be_there_in_any_version(environment: Environment, tmp_path: Path) -> None:
    config = environment.add_user("admin", "system:masters")
    [crd] = read_crds([HOME / "config/crd/bases"])
    crd["metadata"]["name"] = "databases.db.acme.io"
    names = {"kind": "Database", "listKind": "DatabaseList", "plural": "databases", "singular": "database"}
    crd["spec"] |= {"group": "db.acme.io", "names": names}
    (folder := tmp_path / "config" / "crd" / "external").mkdir(parents=True)
    (folder / "databases.yaml").write_bytes(msgspec.json.encode(crd))

    def diagnoses() -> list[tuple[str, str]]:
        return [
            (finding.state, finding.message)
            for finding in doctor.examine_cluster(config, config, tmp_path, None)
            if finding.subject.startswith("CRD")
        ]

    assert diagnoses() == [(PROBLEM, "databases.db.acme.io is not installed: run make install")]
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["description"] = "Newer."
    client = RESTClient(config)
    install(client, [crd])
    client.close()
    assert diagnoses() == [(OK, "1 installed, equal to config/crd")]


@pytest.mark.integration
def test_crd_that_is_being_deleted_is_a_problem_with_the_finalizers_that_it_waits_for(environment: Environment) -> None:
    [crd] = read_crds([HOME / "config/crd/bases"])
    crd["metadata"]["name"] = "huts.wait.example.com"
    names = {"kind": "Hut", "listKind": "HutList", "plural": "huts", "singular": "hut"}
    crd["spec"] |= {"group": "wait.example.com", "names": names}
    hut = {
        "apiVersion": "wait.example.com/v1",
        "kind": "Hut",
        "metadata": {"name": "a", "namespace": "default", "finalizers": ["example.com/keys"]},
        "spec": {"rooms": 3},
    }
    with closing(RESTClient(environment.add_user("admin", "system:masters"))) as client:
        install(client, [crd])
        huts = dynamic_client(GroupVersionResource("wait.example.com", "v1", "huts"))(client, "default")
        huts.create(from_dict(huts.kind, hut))
        dynamic_client(CRDS, namespaced=False)(client).delete("huts.wait.example.com")
        [finding] = doctor.check_crds(client, [crd])
        assert finding == Diagnosis(
            PROBLEM,
            "CRD",
            "huts.wait.example.com is being deleted; it waits for objects with finalizers (example.com/keys), such as"
            " default/a: start their controller, which removes them, then run make install",
        )
        huts.patch("a", {"metadata": {"finalizers": []}})
        eventually(lambda: "is not installed" in next(iter(doctor.check_crds(client, [crd]))).message)


@pytest.mark.integration
def test_missing_permission_of_the_role_is_a_problem(environment: Environment) -> None:
    admin, ann = environment.add_user("admin", "system:masters"), environment.add_user("ann")
    result = list(examine_cluster(admin, ann, HOME, Project.read(HOME)))
    denied = [finding.message.partition(":")[0] for finding in result if finding.subject == "permission"]
    assert "the user may not create, patch events" in denied
    assert "the user may not get, patch, update homes/status of ajd.my.domain" in denied
    assert "the user may not create leases of coordination.k8s.io in the namespace home-system" in denied
    assert of_home(ann)["CRD"].state == WARNING


@pytest.mark.integration
def test_unusable_server_is_one_problem(environment: Environment) -> None:
    wrong_token = replace(environment.add_user("ann"), token="wrong")
    for config, message in (
        (Config(f"http://127.0.0.1:{free_port()}"), "connection refused"),
        (wrong_token, "it does not accept the credentials (Unauthorized): check the user"),
    ):
        [finding] = examine_cluster(config, config, HOME, Project.read(HOME))
        assert (finding.state, finding.subject) == (PROBLEM, "server")
        assert message in finding.message


@pytest.mark.integration
def test_general_checks_need_no_project(
    environment: Environment, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kubeconfig = str(environment._written)
    assert clientgo(tmp_path, "doctor", "--kubeconfig", kubeconfig) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[1] for line in lines][:4] == ["Python", "kubeconfig", "server", "user"]
    assert f"context clientgo-embedded of {kubeconfig}: https://" in lines[1]

    assert clientgo(tmp_path, "doctor", "--kubeconfig", kubeconfig, "--context", "other") == 1
    problem = (
        f"problem  kubeconfig   context 'other' not found in the kubeconfig {kubeconfig} (it has clientgo-embedded)"
    )
    assert problem in capsys.readouterr().out.splitlines()


def test_invalid_project_is_a_problem(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "PROJECT").write_text("domain: [")
    assert clientgo(tmp_path, "doctor") == 1
    assert capsys.readouterr().out.startswith("problem  project      invalid PROJECT")


@pytest.mark.integration
def test_used_port_is_a_problem_if_the_project_needs_it() -> None:
    with socket.create_server(("", 0)) as server:
        used, free = server.getsockname()[1], free_port()
        for needed, state in (((used,), PROBLEM), ((), WARNING)):
            first, second = doctor.check_ports({used: "probes", free: "metrics"}, needed)
            assert first.state == state
            assert first.message.startswith(f"{used} (probes) cannot be used: Address already in use: stop the program")
            assert second == Diagnosis(OK, "ports", f"free: {free}")


@contextmanager
def running(project: Path, words: str) -> Iterator[None]:
    """Run a program whose command line ends with these words, recorded as that of `make run`."""
    (project / ".local").mkdir(exist_ok=True)
    command = [sys.executable, "-c", "import signal; print('begun', flush=True); signal.pause()", words]
    with Child(command, project / ".local/output") as manager:
        manager.wait_for("begun")
        (project / ".local/run.pid").write_text(f"{manager.pid}\n")
        yield


@pytest.mark.e2e
def test_port_of_the_project_s_running_manager_is_no_problem(tmp_path: Path) -> None:
    assert not doctor.manager_command(tmp_path)
    for name, expected in (("clientgo run --reload", OK), ("another run", PROBLEM)):
        with running(tmp_path, name), socket.create_server(("", 0)) as server:
            port = server.getsockname()[1]
            [finding] = doctor.check_ports({port: "probes"}, (port,), running=doctor.manager_command(tmp_path))
        assert (finding.state, finding.message.partition(" (")[0]) == (expected, str(port))
    assert not doctor.manager_command(tmp_path)


@pytest.mark.integration
def test_port_that_the_running_manager_does_not_serve_belongs_to_another_program() -> None:
    with socket.create_server(("", 0)) as server:
        port = server.getsockname()[1]
        [finding] = doctor.check_ports({port: "metrics"}, (), running="clientgo run --reload -- ")
        [by_flag] = doctor.check_ports({port: "metrics"}, (), running=f"clientgo run -- --metrics-bind-address=:{port}")
        elsewhere = "clientgo run -- --health-probe-bind-address localhost:1"
        [other] = doctor.check_ports({port: "probes"}, (port,), running=elsewhere)
    assert (finding.state, by_flag.state, other.state) == (WARNING, OK, PROBLEM)
    assert finding.message.startswith(f"{port} (metrics) cannot be used: Address already in use: stop the program")


@pytest.mark.e2e
def test_certificate_is_that_of_the_running_manager_which_serves_a_cluster(tmp_path: Path) -> None:
    project = foo_project(tmp_path / "foo")
    assert clientgo(project, "create", "webhook", *FOO, "--defaulting") == 0
    options, absent = Namespace(kubeconfig="nowhere", context=None, as_user=None), str(tmp_path / "certificate")
    for host, expected in (("", PROBLEM), (" --webhook-host 127.0.0.1", OK)):
        with running(project, f"clientgo run --reload{host} -- "), pytest.MonkeyPatch.context() as patch:  # noqa: TID251
            patch.setenv("CLIENTGO_WEBHOOK_CERT_PATH", absent)
            [finding] = [each for each in doctor.examine(options, project, {}) if each.subject == "certificate"]
        assert finding.state == expected


@pytest.mark.parametrize(
    ("days", "state"), [(0, OK), (6.5, WARNING), (8, PROBLEM)], ids=["valid", "expires within a day", "expired"]
)
def test_certificate_is_checked_for_its_expiry(tmp_path: Path, days: float, state: str) -> None:
    authority = CertificateAuthority.create("ca")
    for name, content in zip(("tls.crt", "tls.key"), authority.server(["localhost"]), strict=True):
        (tmp_path / name).write_bytes(content)
    later = FakeClock(time=SYSTEM_CLOCK.time() + timedelta(days=days).total_seconds())
    [finding] = doctor.check_certificate(tmp_path, "tls.crt", "tls.key", later)
    assert finding.state == state
    assert ("make cluster" in finding.message) == (state != OK)


def test_certificate_that_is_missing_or_of_another_key_is_a_problem(tmp_path: Path) -> None:
    [missing] = doctor.check_certificate(tmp_path, "tls.crt", "tls.key")
    authority = CertificateAuthority.create("ca")
    (tmp_path / "tls.crt").write_bytes(authority.server(["localhost"])[0])
    (tmp_path / "tls.key").write_bytes(authority.server(["localhost"])[1])
    [other] = doctor.check_certificate(tmp_path, "tls.crt", "tls.key")
    assert (missing.state, other.state) == (PROBLEM, PROBLEM)
    assert "No such file" in missing.message
    assert "are not a certificate and its key" in other.message


def test_failing_check_is_a_problem_and_not_a_traceback() -> None:
    [finding] = doctor.guarded("ports", lambda: [Diagnosis(OK, "ports", str(1 // 0))])
    assert finding.state == PROBLEM
    assert finding.message.endswith("ZeroDivisionError: integer division or modulo by zero")


@pytest.mark.parametrize(("colors", "start"), [(True, "\x1b[31mproblem"), (False, "problem  CRD  ")])
def test_state_is_colored_on_a_terminal(colors: bool, start: str) -> None:
    assert Diagnosis(PROBLEM, "CRD", "x").line(colors=colors).startswith(start)
