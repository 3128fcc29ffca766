"""Files and errors of `clientgo create webhook`, for every webhook type and order of calls."""

import ast
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.projects import FOO, clientgo, foo_project, kind, new_project, read_files, rejected

HUB = kind("samplecontroller", "v1", "Foo")
CONVERSION = "webhooks/v1/foo_conversion.py"
WEBHOOK_FLAGS = ("--defaulting", "--programmatic-validation", "--conversion")


@pytest.fixture
def project(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """Project with Foo in two versions; the output of its creation is discarded."""
    built = two_versions(tmp_path / "foo")
    capsys.readouterr()
    return built


def two_versions(folder: Path) -> Path:
    foo_project(folder)
    assert clientgo(folder, "create", "api", *HUB, "--resource", "--controller=false") == 0
    return folder


def webhook(project: Path, *arguments: str) -> int:
    return clientgo(project, "create", "webhook", *arguments)


def document(project: Path, path: str) -> Any:
    return yaml.safe_load((project / path).read_text())


def webhooks_in_project(project: Path) -> list[Any]:
    return [item.get("webhooks") for item in document(project, "PROJECT")["resources"]]


@pytest.mark.feature("A-63")
@pytest.mark.feature("E-03")
def test_every_webhook_type_gets_code_tests_and_manifests(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = read_files(project)

    assert webhook(project, *HUB, *WEBHOOK_FLAGS) == 0

    # Every line found its marker.
    assert "put there yourself" not in capsys.readouterr().out
    built = read_files(project)
    code = {"webhooks/__init__.py", "webhooks/server.py", "tests/webhooks.py"}
    code |= {f"webhooks/{file}" for file in ("v1/__init__.py", "v1/foo_defaulter.py", "v1/foo_validator.py")}
    code |= {CONVERSION, "webhooks/v1alpha1/__init__.py", "webhooks/v1alpha1/foo_conversion.py"}
    code |= {f"tests/test_foo_{file}.py" for file in ("v1_defaulter", "v1_validator", "v1alpha1_conversion")}
    config = {"crd/kustomizeconfig.yaml", "crd/patches/webhook_in_foos.yaml", "webhook/kustomization.yaml"}
    config |= {"webhook/service.yaml", "default/manager_webhook_patch.yaml", "default/cert_metrics_manager_patch.yaml"}
    config |= {f"certmanager/{file}.yaml" for file in ("issuer", "certificate-webhook", "certificate-metrics")}
    config |= {"certmanager/kustomization.yaml", "certmanager/kustomizeconfig.yaml"}
    config |= {"network-policy/allow-webhook-traffic.yaml"}
    assert built.keys() - before.keys() == code | {f"config/{file}" for file in config}


@pytest.mark.feature("A-63")
def test_manager_serves_every_webhook_unless_disabled(project: Path) -> None:
    assert webhook(project, *HUB, *WEBHOOK_FLAGS) == 0

    built = read_files(project)
    assert "    add_webhooks(manager, flags)\n" in built["main.py"]
    assert "    if not webhooks_enabled():\n        return\n" in built["webhooks/server.py"]
    for suffix in ("Defaulter", "Validator", "Conversion"):
        assert f"    Foo{suffix}().setup_with_server(server)\n" in built["webhooks/server.py"]


@pytest.mark.parametrize("groups", [("samplecontroller",), ("samplecontroller", "other")], ids=["one", "multigroup"])
@pytest.mark.parametrize("order", [("v1alpha1", "v1", "v1beta1"), ("v1beta1", "v1alpha1", "v1")])
def test_server_registers_the_webhooks_of_every_version(tmp_path: Path, groups: tuple[str, ...], order: Any) -> None:
    project = new_project(tmp_path / "foo")
    assert len(groups) == 1 or clientgo(project, "edit", "--multigroup") == 0
    kinds = [(group, f"Foo{group[0].upper()}" if group != groups[0] else "Foo") for group in groups]
    for group, name in kinds:
        for version in ("v1alpha1", "v1beta1", "v1"):
            named = kind(group, version, name)
            assert clientgo(project, "create", "api", *named, "--resource", "--controller=false") == 0
        for version in order:
            for flags in (("--defaulting",), ("--programmatic-validation",), ("--defaulting", "--force")):
                assert webhook(project, *kind(group, version, name), *flags) == 0
    calls = registrations(project)
    assert len(calls) == 2 * 3 * len(groups)
    assert clientgo(project, "upgrade") == 0
    assert len(registrations(project)) == len(calls)


def registrations(project: Path) -> set[str]:
    """Return the calls in the server's `register`, after a check that its module imports each name once."""
    server = ast.parse((project / "webhooks/server.py").read_text())
    names = [
        name.asname or name.name for node in server.body if isinstance(node, ast.ImportFrom) for name in node.names
    ]
    assert len(names) == len(set(names))
    register = server.body[-1]
    assert isinstance(register, ast.FunctionDef)
    return {ast.unparse(line) for line in register.body[1:]}


@pytest.mark.feature("A-63")
@pytest.mark.feature("E-03")
def test_crd_has_conversion_webhook_with_cert_manager_ca(project: Path) -> None:
    assert webhook(project, *HUB, "--conversion") == 0

    crds = document(project, "config/crd/kustomization.yaml")
    assert crds["patches"] == [{"path": "patches/webhook_in_foos.yaml"}]
    patch = document(project, "config/crd/patches/webhook_in_foos.yaml")
    assert patch["metadata"]["name"] == "foos.samplecontroller.c9g.io"
    assert patch["spec"]["conversion"]["webhook"]["clientConfig"]["service"]["path"] == "/convert"
    default = document(project, "config/default/kustomization.yaml")
    assert {"../webhook", "../certmanager"} <= set(default["resources"])
    selected = [target["select"] for item in default["replacements"] for target in item["targets"]]
    assert selected.count({"kind": "CustomResourceDefinition", "name": "foos.samplecontroller.c9g.io"}) == 2
    # No manifests of admission webhooks.
    assert document(project, "config/webhook/kustomization.yaml")["resources"] == ["service.yaml"]


@pytest.mark.feature("A-63")
def test_webhook_scaffold_is_independent_of_call_order(tmp_path: Path) -> None:
    trees = []
    for number, order in enumerate([WEBHOOK_FLAGS, *permutations(WEBHOOK_FLAGS)]):
        project = two_versions(tmp_path / str(number))
        for arguments in [order] if number == 0 else [(flag,) for flag in order]:
            assert webhook(project, *HUB, *arguments) == 0
        trees.append({path: sorted(text.splitlines()) for path, text in read_files(project).items() if path[0] != "."})

    assert all(tree == trees[0] for tree in trees[1:])


@pytest.mark.feature("E-07")
def test_project_file_records_the_hub_and_its_spokes(project: Path) -> None:
    assert webhook(project, *HUB, "--defaulting") == 0
    assert webhook(project, *HUB, "--conversion", "--spoke", "v1alpha1") == 0

    recorded = {"defaulting": True, "conversion": True, "spoke": ["v1alpha1"], "webhookVersion": "v1"}
    assert webhooks_in_project(project) == [None, recorded]


@pytest.mark.feature("C-34")
@pytest.mark.feature("E-08")
def test_webhook_path_can_be_overridden(project: Path) -> None:
    paths = ("--defaulting-path", "/fill-in", "--validation-path", "/judge/v1")
    assert webhook(project, *HUB, "--defaulting", "--programmatic-validation", *paths) == 0

    assert 'PATH = "/fill-in"\n' in (project / "webhooks/v1/foo_defaulter.py").read_text()
    assert 'PATH = "/judge/v1"\n' in (project / "webhooks/v1/foo_validator.py").read_text()
    assert (
        webhooks_in_project(project)[1].items() >= {"defaultingPath": "/fill-in", "validationPath": "/judge/v1"}.items()
    )
    # Overwriting keeps the path.
    before = read_files(project)
    assert webhook(project, *HUB, "--defaulting", "--force") == 0
    assert read_files(project) == before


def test_later_spoke_is_added_once(project: Path) -> None:
    third = kind("samplecontroller", "v1beta1", "Foo")
    assert webhook(project, *HUB, "--conversion") == 0
    assert clientgo(project, "create", "api", *third, "--resource", "--controller=false") == 0
    with (project / CONVERSION).open("a") as file:
        file.write("\n# mine\n")

    assert webhook(project, *HUB, "--conversion") == 0

    text = (project / CONVERSION).read_text()
    assert "        v1alpha1.add_to(hub)\n        v1beta1.add_to(hub)\n" in text
    assert text.endswith("# mine\n")
    assert webhooks_in_project(project)[1]["spoke"] == ["v1alpha1", "v1beta1"]


def test_spokes_are_comma_separated_or_repeated(project: Path) -> None:
    for version in ("v1beta1", "v1beta2"):
        further = kind("samplecontroller", version, "Foo")
        assert clientgo(project, "create", "api", *further, "--resource", "--controller=false") == 0

    assert webhook(project, *HUB, "--conversion", "--spoke", "v1alpha1, v1beta1", "--spoke", "v1beta2") == 0
    assert webhooks_in_project(project)[1]["spoke"] == ["v1alpha1", "v1beta1", "v1beta2"]


def test_second_kind_gets_its_own_conversion_patch(project: Path) -> None:
    bar = (*FOO[:2], "--kind", "Bar")
    for version in ("v1alpha1", "v1"):
        arguments = (*bar, "--version", version, "--resource", "--controller=false")
        assert clientgo(project, "create", "api", *arguments) == 0

    assert webhook(project, *HUB, "--conversion") == 0
    assert webhook(project, *bar, "--version", "v1", "--conversion") == 0

    paths = [item["path"] for item in document(project, "config/crd/kustomization.yaml")["patches"]]
    assert paths == ["patches/webhook_in_foos.yaml", "patches/webhook_in_bars.yaml"]
    assert (project / "config/crd/kustomization.yaml").read_text().count("configurations:") == 1


@pytest.mark.feature("A-63")
@pytest.mark.parametrize("flag", WEBHOOK_FLAGS)
def test_existing_webhook_is_not_overwritten_without_force(
    project: Path, capsys: pytest.CaptureFixture[str], flag: str
) -> None:
    assert webhook(project, *HUB, flag) == 0
    for path in (project / "webhooks").rglob("*.py"):
        path.write_text(path.read_text() + "\n# mine\n")

    assert "use --force to overwrite it" in rejected(project, capsys, "create", "webhook", *HUB, flag)


@pytest.mark.feature("A-63")
def test_another_webhook_type_keeps_manual_changes(project: Path) -> None:
    assert webhook(project, *HUB, "--defaulting") == 0
    changed = [project / path for path in ("webhooks/v1/foo_defaulter.py", "config/webhook/service.yaml")]
    for path in changed:
        path.write_text(path.read_text() + "# mine\n")

    assert webhook(project, *HUB, "--programmatic-validation", "--conversion") == 0
    assert all(path.read_text().endswith("# mine\n") for path in changed)


def test_force_restores_the_conversion_with_every_spoke(project: Path) -> None:
    assert webhook(project, *HUB, *WEBHOOK_FLAGS) == 0
    before = read_files(project)
    (project / CONVERSION).write_text("# mine\n")

    assert webhook(project, *HUB, *WEBHOOK_FLAGS, "--force") == 0
    assert read_files(project) == before


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((*kind("apps", "v1", "Deployment"), "--conversion"),
         "Deployment is not defined in this project: its owner converts it"),
        ((*HUB, "--spoke", "v1alpha1"), "--spoke requires --conversion"),
        ((*HUB, "--conversion", "--defaulting-path", "/x"), "--defaulting-path requires --defaulting"),
        ((*HUB, "--defaulting", "--defaulting-path", "x y"),
         "invalid webhook path 'x y': expected a path such as /mutate-foo"),
        ((*HUB, "--defaulting", "--programmatic-validation", "--defaulting-path", "/x", "--validation-path", "/x"),
         "the webhook path /x is already used by another webhook of this command"),
        ((*HUB, "--defaulting", "--defaulting-path", "/convert"),
         "the webhook path /convert is already used by conversions"),
        ((*HUB, "--conversion", "--spoke", "v1"), "v1 is the hub and cannot be a spoke"),
        ((*HUB, "--conversion", "--spoke", "v9"), "version v9 of Foo not found in this project: add it with clientgo"),
        ((*HUB[:4], "--kind", "Bar", "--conversion"), "nothing to convert: v1 is the only version of Bar"),
    ],
)  # fmt: skip
def test_invalid_webhook_options_are_rejected_and_nothing_is_written(
    project: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], expected: str
) -> None:
    bar = (*HUB[:4], "--kind", "Bar", "--resource", "--controller=false")
    assert clientgo(project, "create", "api", *bar) == 0

    error = rejected(project, capsys, "create", "webhook", *arguments)
    assert expected in error
    assert error.count("\n") == 1


def test_path_of_another_version_is_rejected(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert webhook(project, *FOO, "--defaulting") == 0
    path = "/mutate-samplecontroller-c9g-io-v1alpha1-foo"
    assert webhook(project, *HUB, "--programmatic-validation", "--validation-path", path) == 1
    assert f"the webhook path {path} is already used by Foo of v1alpha1" in capsys.readouterr().err


def test_second_hub_is_rejected(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert webhook(project, *HUB, "--conversion") == 0
    error = rejected(project, capsys, "create", "webhook", *FOO, "--conversion")
    assert "Foo already has the hub v1: a kind has only one" in error


@pytest.mark.feature("A-63")
@pytest.mark.feature("E-08")
def test_built_in_kind_can_have_admission_webhooks(project: Path) -> None:
    pod = kind("core", "v1", "Pod")

    assert webhook(project, *pod, "--defaulting", "--programmatic-validation") == 0

    built = read_files(project)
    for word, path in (("defaulter", "/mutate--v1-pod"), ("validator", "/validate--v1-pod")):
        code = built[f"webhooks/v1/pod_{word}.py"]
        assert "from clientgo.kubernetes.types.core_v1 import Pod\nfrom clientgo.meta" in code
        assert f'PATH = "{path}"\n' in code
        assert f'    name="{word[0].replace("d", "m")}pod-v1.foo.c9g.io",\n' in code
        assert '    failure_policy="Ignore",\n' in code
    assert built.keys() >= {"tests/test_pod_v1_defaulter.py", "tests/test_pod_v1_validator.py"}
    webhooks = {"defaulting": True, "validation": True, "webhookVersion": "v1"}
    expected = {"core": True, "group": "core", "kind": "Pod", "version": "v1", "webhooks": webhooks}
    assert document(project, "PROJECT")["resources"][-1].items() >= expected.items()
