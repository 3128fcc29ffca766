"""Projects in examples/: two complete ones, and the edited files of four others, which are scaffolded here.

After a change of the scaffold, run CLIENTGO_UPDATE_GOLDEN=1 pytest tests/cli/test_examples.py and review the diff.
"""

import json
import os
import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.cli.exampleprojects import HOME, REDIS, Example, copy_files, copy_project, scaffold
from tests.cli.processes import free_port, in_background, wait_for
from tests.cli.projects import ROOT, kind, lint, read_files, run
from tests.e2e.clusters import without_crds
from tests.installed import installed
from tests.processes import using_mypy_cache

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]

# Files written by the generators, and the records of the command.
GENERATED = ("generated/", "config/crd/bases/", "config/webhook/manifests.yaml", ".clientgo/")


STRICT = {"typeCheckingMode": "strict", "pythonVersion": "3.11"}

FOO = Example(
    "foo-c9g",
    [
        ("init", "--domain", "c9g.io", "--project-name", "foo"),
        ("create", "api", *kind("samplecontroller", "v1alpha1", "Foo"), "--resource", "--controller"),
    ],
    {
        "api/v1alpha1/foo_types.py",
        "config/samples/samplecontroller_v1alpha1_foo.yaml",
        "controllers/foo_controller.py",
    },
)
IPPOOL = Example(
    "ippool",
    [
        ("init", "--domain", "tiduyun.com", "--project-name", "ippool"),
        ("create", "api", *kind("tsi", "v1alpha1", "IPPool"), "--resource", "--controller", "--namespaced=false"),
    ],
    {
        "api/v1alpha1/ippool_types.py",
        "config/samples/tsi_v1alpha1_ippool.yaml",
        "controllers/ippool_controller.py",
        "main.py",
        "tests/test_ippool_controller.py",
    },
    ("manifests", "generate"),
    complete=True,
)
WEBAPP = Example(
    "webapp",
    [
        ("init", "--domain", "example.com", "--project-name", "webapp"),
        ("create", "api", *kind("web", "v1alpha1", "WebApp"), "--resource", "--controller=false"),
        ("create", "api", *kind("web", "v1", "WebApp"), "--resource", "--controller"),
        (
            *("create", "webhook", *kind("web", "v1", "WebApp"), "--defaulting", "--programmatic-validation"),
            *("--conversion", "--spoke", "v1alpha1"),
        ),
    ],
    {
        "api/v1/webapp_types.py",
        "api/v1alpha1/webapp_types.py",
        "config/samples/web_v1_webapp.yaml",
        "config/samples/web_v1alpha1_webapp.yaml",
        "controllers/webapp_controller.py",
        "tests/test_webapp_controller.py",
        "tests/test_webapp_v1_defaulter.py",
        "tests/test_webapp_v1_validator.py",
        "tests/test_webapp_v1alpha1_conversion.py",
        "webhooks/v1/webapp_defaulter.py",
        "webhooks/v1/webapp_validator.py",
        "webhooks/v1alpha1/webapp_conversion.py",
    },
    added={"controllers/webapp_parts.py"},
)
CRONJOB = Example(
    "cronjob",
    [
        ("init", "--domain", "example.com", "--project-name", "cronjob"),
        ("create", "api", *kind("batch", "v1", "CronJob"), "--resource", "--controller"),
        ("create", "api", *kind("batch", "v2", "CronJob"), "--resource", "--controller=false"),
        (
            *("create", "webhook", *kind("batch", "v1", "CronJob"), "--defaulting", "--programmatic-validation"),
            *("--conversion", "--spoke", "v2"),
        ),
    ],
    {
        "api/v1/cronjob_types.py",
        "api/v2/cronjob_types.py",
        "config/samples/batch_v1_cronjob.yaml",
        "config/samples/batch_v2_cronjob.yaml",
        "controllers/cronjob_controller.py",
        "tests/test_cronjob_controller.py",
        "tests/test_cronjob_v1_defaulter.py",
        "tests/test_cronjob_v1_validator.py",
        "tests/test_cronjob_v2_conversion.py",
        "webhooks/v1/cronjob_defaulter.py",
        "webhooks/v1/cronjob_validator.py",
        "webhooks/v2/cronjob_conversion.py",
    },
    added={"controllers/schedule.py", "tests/test_schedule.py"},
)
CRONJOB_PAGE = (ROOT / "docs" / "cronjob.md").read_text(encoding="utf-8")
EXAMPLES = pytest.mark.parametrize(
    "example",
    [
        pytest.param(FOO, marks=pytest.mark.feature("A-33"), id="foo"),
        pytest.param(IPPOOL, marks=[pytest.mark.feature("A-34"), pytest.mark.feature("A-77")], id="ippool"),
        pytest.param(HOME, marks=pytest.mark.feature("A-35"), id="home"),
        pytest.param(REDIS, marks=[pytest.mark.feature("A-18"), pytest.mark.feature("A-36")], id="rediscluster"),
        pytest.param(WEBAPP, marks=[pytest.mark.feature("A-18"), pytest.mark.feature("A-36")], id="webapp"),
        pytest.param(CRONJOB, id="cronjob"),
    ],
)


def test_page_of_the_cronjob_example_has_its_commands() -> None:
    [commands, _] = re.findall("^```sh\n(.*?)^```$", CRONJOB_PAGE, re.MULTILINE | re.DOTALL)
    assert commands == "".join(f"clientgo {' '.join(command)}\n" for command in CRONJOB.commands)


@pytest.mark.parametrize(
    ("path", "excerpt"),
    re.findall(r"(?:`\./([\w./]+)`:\n\n)?^```python\n(.*?)^```$", CRONJOB_PAGE, re.MULTILINE | re.DOTALL),
    ids=lambda text: text.split("\n")[0],
)
def test_page_of_the_cronjob_example_shows_its_code(path: str, excerpt: str) -> None:
    source = (ROOT / "examples" / CRONJOB.folder / path).read_text(encoding="utf-8")
    # Without spaces: the formatter joins lines of an excerpt, which it does not indent.
    assert "".join(excerpt.split()) in "".join(source.split())


@EXAMPLES
def test_example_matches_the_scaffold_except_edited_files(example: Example, tmp_path: Path) -> None:
    fresh = read_files(scaffold(example, tmp_path / "fresh"))
    stored = read_files(copy_files(example.folder, tmp_path / "kept"))
    if not example.complete:
        assert stored.keys() == example.edited | example.added
        assert {path for path in example.edited if fresh[path] == stored[path]} == set()
        return

    if os.environ.get("CLIENTGO_UPDATE_GOLDEN"):
        for path in fresh.keys() - example.edited:
            location = ROOT / "examples" / example.folder / path
            location.parent.mkdir(parents=True, exist_ok=True)
            location.write_text(fresh[path])
        stored = read_files(copy_files(example.folder, tmp_path / "kept"))
    roles = {path for path in stored if path.startswith("config/rbac/") and "DO NOT EDIT" in stored[path]}
    assert {path for path in fresh.keys() & stored.keys() if fresh[path] != stored[path]} == example.edited
    assert fresh.keys() - stored.keys() == set()
    assert {path for path in stored.keys() - fresh.keys() - roles if not path.startswith(GENERATED)} == example.added


@pytest.mark.feature("A-64")
@EXAMPLES
def test_example_passes_its_own_checks(example: Example, tmp_path: Path, variables: Mapping[str, str]) -> None:
    project = copy_project(example, tmp_path, variables)

    for command in example.generates:
        assert run(project, variables, "python", "-m", "clientgo.cli", command, "--verify") == ""
    lint(project, variables)
    run(project, variables, "ruff", "format", "--check")
    run(project, variables, "python", "-m", "pytest", "-q")
    run(project, variables, "kubectl", "kustomize", "config/default")


@pytest.mark.slow
@EXAMPLES
def test_example_passes_basedpyright_in_strict_mode(
    example: Example, tmp_path: Path, variables: Mapping[str, str]
) -> None:
    if shutil.which("basedpyright", path=variables["PATH"]) is None:
        pytest.skip("basedpyright is not installed")
    project = copy_project(example, tmp_path, variables)
    (project / "pyrightconfig.json").write_text(json.dumps(STRICT | {"extraPaths": [str(installed(project.parent))]}))
    run(project, variables, "basedpyright", "--level=error", f"--pythonpath={sys.executable}")


@pytest.mark.requires("a real server")
@EXAMPLES
def test_example_tests_pass_twice_on_the_same_server(
    example: Example, tmp_path: Path, variables: Mapping[str, str]
) -> None:
    project = copy_project(example, tmp_path, variables)
    server = ("KUBECONFIG", "USE_EXISTING_CLUSTER", "KUBEBUILDER_ASSETS")
    chosen = {**variables, **{name: os.environ[name] for name in server if name in os.environ}}

    with without_crds(project / "config/crd/bases"):
        for _ in range(2):
            run(project, chosen, "python", "-m", "pytest", "-q")


@pytest.mark.feature("A-35")
@pytest.mark.feature("A-67")
def test_manager_requires_a_certificate_unless_webhooks_are_disabled(
    tmp_path: Path, variables: Mapping[str, str]
) -> None:
    project = copy_project(HOME, tmp_path, variables)
    kubectl = ("kubectl", "--kubeconfig", ".kubeconfig")
    flags = f"ARGS=--health-probe-bind-address=127.0.0.1:{free_port()} --webhook-cert-path={tmp_path / 'nothing'}"
    with in_background(project, variables, "make", "cluster", sign="kubeconfig"):
        run(project, variables, "make", "install", "ENABLE_WEBHOOKS=false")
        refused = in_background(project, variables, "make", "run", flags, sign="Starting workers")
        with (
            pytest.raises(AssertionError, match=r"has no tls\.crt and no tls\.key; mount one there") as failed,
            refused,
        ):
            pass
        assert "set ENABLE_WEBHOOKS=false to run without webhooks" in str(failed.value)
        assert "Traceback" not in str(failed.value)
        without = {**variables, "ENABLE_WEBHOOKS": "false"}
        with in_background(project, without, "make", "run", flags, sign="Starting workers") as log:
            run(project, variables, *kubectl, "apply", "-k", "config/samples")
            wait_for(log, '"ready"')


@pytest.fixture
def certificates(tmp_path: Path, variables: Mapping[str, str]) -> Path:
    """Copy of the third-party example with its generated types, for which its docstring has the command."""
    folder = copy_files("certificates", tmp_path / "certificates")
    [generate] = re.findall("^    (python -m clientgo.codegen .+)$", (folder / "expiry.py").read_text(), re.MULTILINE)
    run(folder, variables, *generate.split())
    return folder


def test_third_party_example_passes_its_checks(certificates: Path, variables: Mapping[str, str]) -> None:
    ruff_config = ("--config", str(ROOT / "ruff.toml"))
    with using_mypy_cache():
        run(certificates, variables, "mypy", "--strict", "expiry.py", "test_expiry.py")
    run(certificates, variables, "ruff", "check", *ruff_config, "--ignore", "D1")
    run(certificates, variables, "ruff", "format", "--check", *ruff_config)
    run(certificates, variables, "python", "-m", "pytest", "-q")


@pytest.mark.slow
def test_examples_in_one_file_pass_basedpyright_in_strict_mode(
    certificates: Path, variables: Mapping[str, str]
) -> None:
    if shutil.which("basedpyright", path=variables["PATH"]) is None:
        pytest.skip("basedpyright is not installed")
    for path in (ROOT / "examples").glob("*.py"):
        shutil.copy(path, certificates)
    for name in ("server.py", "with_clientgo.py", "scenarios.py"):
        shutil.copy(ROOT / "examples" / "database" / name, certificates)
    paths = [str(installed(certificates.parent)), str(ROOT)]
    (certificates / "pyrightconfig.json").write_text(json.dumps(STRICT | {"extraPaths": paths}))
    run(certificates, variables, "basedpyright", "--level=error", f"--pythonpath={sys.executable}")


def test_third_party_example_runs_on_an_embedded_server_with_its_crd(
    certificates: Path, variables: Mapping[str, str]
) -> None:
    command = ("python", "-m", "clientgo.cli", "run", "expiry.py", "--embedded")
    with in_background(certificates, variables, *command, "--crds", "certificates.yaml", sign="Starting workers"):
        pass
    with (
        pytest.raises(AssertionError, match="--embedded needs the CRD of Certificate: add --crds FILE"),
        in_background(certificates, variables, *command, sign="Starting workers"),
    ):
        pass
