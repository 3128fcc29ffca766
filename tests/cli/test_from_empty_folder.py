"""Path from an empty folder to a reconciled object in six commands, with checks of the scaffolded project."""

import urllib.request
from collections.abc import Mapping
from pathlib import Path

import pytest

from clientgo.clock import SYSTEM_CLOCK
from tests.cli.processes import free_port, in_background, wait_for
from tests.cli.projects import FOO, run
from tests.processes import using_mypy_cache

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]


@pytest.fixture
def foo(tmp_path: Path, variables: Mapping[str, str]) -> Path:
    """Project with Foo and its generated files."""
    folder = tmp_path / "foo"
    folder.mkdir()
    run(folder, variables, "python", "-m", "clientgo.cli", "init", "--domain", "c9g.io", "--project-name", "foo")
    run(folder, variables, "python", "-m", "clientgo.cli", "create", "api", *FOO, answers="y\ny\n")
    run(folder, variables, "make", "manifests", "generate")
    return folder


@pytest.mark.feature("A-33")
@pytest.mark.feature("A-65")
@pytest.mark.feature("A-66")
@pytest.mark.feature("A-67")
def test_six_commands_create_and_reconcile_an_object(
    tmp_path: Path, variables: Mapping[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    kubectl = ("kubectl", "--kubeconfig", ".kubeconfig")
    url = f"http://127.0.0.1:{free_port()}"
    flags = f"ARGS=--health-probe-bind-address=127.0.0.1:{free_port()} --metrics-bind-address={url[7:]}"
    began = SYSTEM_CLOCK.now()

    run(folder, variables, "python", "-m", "clientgo.cli", "init", "--domain", "c9g.io", "--project-name", "foo")
    run(folder, variables, "python", "-m", "clientgo.cli", "create", "api", *FOO, "--resource", "--controller")
    with in_background(folder, variables, "make", "cluster", sign="kubeconfig"):
        run(folder, variables, "make", "install")
        with in_background(folder, variables, "make", "run", flags, sign="Starting workers") as log:
            run(folder, variables, *kubectl, "apply", "-k", "config/samples")
            wait_for(log, 'foo="foo-sample"')
            took = SYSTEM_CLOCK.now() - began
            table = run(folder, variables, *kubectl, "get", "foos.samplecontroller.c9g.io")
            assert f'"serving the dashboard" url="{url}/dashboard"' in log.read_text()
            with urllib.request.urlopen(url, timeout=10) as index:
                pages = [line.split()[0] for line in index.read().decode().splitlines()]
            for page in pages:
                urllib.request.urlopen(url + page, timeout=10).close()

    with capsys.disabled():
        print(f"\nfrom an empty folder to a reconciled object: {took:.0f} s")
    assert pages[:4] == ["/dashboard", "/metrics", "/statusz", "/flagz"]
    assert table.splitlines()[0].split() == ["NAME", "AGE"]
    assert table.splitlines()[1].split()[0] == "foo-sample"


@pytest.mark.feature("A-65")
@pytest.mark.slow
def test_uninstall_removes_crds_and_ignores_missing_ones_by_default(foo: Path, variables: Mapping[str, str]) -> None:
    crds = ("kubectl", "--kubeconfig", ".kubeconfig", "get", "crd", "-o", "name")
    with in_background(foo, variables, "make", "cluster", sign="kubeconfig"):
        run(foo, variables, "make", "install")
        assert "foos.samplecontroller.c9g.io" in run(foo, variables, *crds)
        run(foo, variables, "make", "uninstall")
        assert "foos.samplecontroller.c9g.io" not in run(foo, variables, *crds)

        run(foo, variables, "make", "uninstall")
        with pytest.raises(AssertionError, match="not found"):
            run(foo, variables, "make", "uninstall", "ignore-not-found=false")


@pytest.mark.slow
def test_uninstall_removes_the_webhooks_that_install_has_installed(foo: Path, variables: Mapping[str, str]) -> None:
    hooks = ("--programmatic-validation", "--defaulting")
    run(foo, variables, "python", "-m", "clientgo.cli", "create", "webhook", *FOO, *hooks)
    get = ("kubectl", "--kubeconfig", ".kubeconfig", "get", "-o", "name")
    configurations = (*get, "validatingwebhookconfigurations,mutatingwebhookconfigurations")
    with in_background(foo, variables, "make", "cluster", sign="kubeconfig"):
        run(foo, variables, "make", "install")
        assert len(run(foo, variables, *configurations).split()) == 2
        run(foo, variables, "make", "uninstall")
        assert run(foo, variables, *configurations) == ""


@pytest.mark.parametrize("target", ["test-e2e", "cleanup-test-e2e"])
def test_missing_kind_is_named_in_one_line(foo: Path, variables: Mapping[str, str], target: str) -> None:
    with pytest.raises(AssertionError) as failed:
        run(foo, variables, "make", target, "KIND=no-such-kind")
    [line] = [line for line in str(failed.value).splitlines() if "kind" in line and not line.startswith("make")]
    assert line == "no-such-kind not found: install kind (https://kind.sigs.k8s.io), or set KIND to its path"


@pytest.mark.parametrize("target", ["install", "deploy"])
def test_objects_are_applied_by_the_server_which_needs_no_annotation(
    foo: Path, variables: Mapping[str, str], target: str
) -> None:
    """A copy of the object in an annotation would limit CRDs to 256 KiB."""
    commands = run(foo, variables, "make", "--dry-run", target)
    applied = [words for words in commands.split(";") if "kubectl apply" in words]
    assert applied
    assert all("kubectl apply --server-side --force-conflicts " in words for words in applied)


@pytest.mark.feature("A-62")
@pytest.mark.feature("A-68")
def test_new_project_passes_its_own_checks(foo: Path, variables: Mapping[str, str]) -> None:
    run(foo, variables, "ruff", "check", "--no-cache")
    run(foo, variables, "ruff", "format", "--no-cache", "--check")
    with using_mypy_cache():
        run(foo, variables, "mypy", "--strict")
    assert "2 passed, 1 skipped" in run(foo, variables, "make", "test")


@pytest.mark.feature("A-73")
def test_forgotten_permission_fails_the_tests_with_the_declaration_to_add(
    foo: Path, variables: Mapping[str, str]
) -> None:
    controller, test = foo / "controllers/foo_controller.py", foo / "tests/test_foo_controller.py"
    controller.write_text(controller.read_text().replace('"get", "list", "patch", "update", "watch"', '"get"'))
    test.write_text(test.read_text().replace("timeout=20", "timeout=2"))
    with pytest.raises(AssertionError) as failed:
        run(foo, variables, "make", "test")
    assert "config/rbac/role.yaml lacks permissions that were used" in str(failed.value)
    declaration = '@rbac(groups="samplecontroller.c9g.io", resources="foos", verbs=("list", "watch"))'
    assert f" {declaration}\n" in str(failed.value)


FINALIZED = """\
import pytest
from clientgo.meta import ObjectMeta, ObjectName
from clientgo.testing.eventually import eventually

from api.v1alpha1.foo_types import Foo
from controllers.foo_controller import FooReconciler

finalized = []


class Finalizing(FooReconciler, finalizer="c9g.io/foo"):
    def finalize(self, foo):
        finalized.append(foo.metadata.name)


@pytest.mark.parametrize("run", [1, 2])
def test_pair(manager, started, client, created, run):
    assert finalized == ["second", "first"] * (run - 1)
    manager.add_reconciler(Finalizing)
    started()
    for name in ("first", "second"):
        created.append(client.create(Foo(ObjectMeta(name=name, namespace="default"))))
        eventually(lambda: client.get(Foo, ObjectName("default", name)).metadata.finalizers)
"""


def test_objects_of_a_test_are_finalized_after_it_the_last_one_first(foo: Path, variables: Mapping[str, str]) -> None:
    (foo / "tests/test_pair.py").write_text(FINALIZED)
    assert "2 passed" in run(foo, variables, "python", "-m", "pytest", "tests/test_pair.py")
