"""Manifests of permissions and webhooks declared in code, and errors for invalid declarations."""

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from clientgo.codegen.__main__ import main
from clientgo.codegen.manifests import webhook_configurations
from clientgo.codegen.rbac import roles
from clientgo.meta.declarations import WebhookDeclaration, admission_webhook, rbac
from tests.codegen.generating import CREDENTIALS

KINDS = "tests.codegen.kinds.fleet"
MASTER = "tests.codegen.kinds.harbour_master"


def generate(folder: Path, *more: str) -> int:
    return main(["--input-module", KINDS, "--output-package", "made", "--root", str(folder), *more])


def documents(path: Path) -> list[Any]:
    return list(yaml.safe_load_all(path.read_text()))


def rules(*declared: Any) -> Any:
    return roles(declared, "r")[0]["rules"]


@pytest.mark.feature("A-52")
def test_permissions_are_merged_and_sorted(tmp_path: Path) -> None:
    assert generate(tmp_path, "--rbac-dir", "rbac", "--declarations", MASTER, "--role-name", "master") == 0
    master, quay, fleet = documents(tmp_path / "rbac/role.yaml")
    assert [(r["kind"], r["metadata"]) for r in (master, quay, fleet)] == [
        ("ClusterRole", {"name": "master"}),
        ("ClusterRole", {"name": "quay"}),
        ("Role", {"name": "master", "namespace": "fleet"}),
    ]
    assert master["rules"] == [
        {"nonResourceURLs": ["/healthz", "/metrics"], "verbs": ["get"]},
        {"apiGroups": [""], "resources": ["events"], "verbs": ["create", "patch"]},
        {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get", "list", "watch"]},
        {"apiGroups": ["fleet.example.com"], "resources": ["harbours", "ships"], "verbs": ["get", "list", "watch"]},
        {"apiGroups": ["fleet.example.com"], "resources": ["ships/status"], "verbs": ["*"]},
    ]
    assert quay["rules"] == [
        {"apiGroups": ["apps"], "resourceNames": ["quay"], "resources": ["deployments"], "verbs": ["patch"]}
    ]
    assert fleet["rules"] == [
        {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["create", "get", "update"]}
    ]


def test_groups_with_equal_permissions_are_merged_in_any_order() -> None:
    declared = [
        rbac(groups="b.io", resources="things", verbs=("list", "get")),
        rbac(groups="a.io", resources="things", verbs=("get", "list")),
        rbac(groups="a.io", resources="things", verbs="get"),
    ]
    joined = [{"apiGroups": ["a.io", "b.io"], "resources": ["things"], "verbs": ["get", "list"]}]
    assert rules(*declared) == rules(*reversed(declared)) == joined


def test_permission_limited_to_a_name_is_not_widened() -> None:
    item = rbac(groups="a.io", resources="things", verbs="get", resource_names="x")
    assert len(rules(item, rbac(groups="a.io", resources="things", verbs="list"))) == 2


def test_roles_of_a_second_kind_with_the_same_name_include_the_group(tmp_path: Path) -> None:
    inputs = ["--input-module", "tests.codegen.kinds.foo_c9g", "--input-module", "tests.codegen.kinds.reference_foo"]
    assert main([*inputs, "--rbac-dir", "rbac", "--root", str(tmp_path)]) == 0
    (first,) = documents(tmp_path / "rbac/foo_viewer_role.yaml")
    assert first["metadata"]["name"] == "foo-viewer-role"
    (role,) = documents(tmp_path / "rbac/samplecontroller.k8s.io_foo_viewer_role.yaml")
    assert role["metadata"]["name"] == "samplecontroller.k8s.io-foo-viewer-role"


@pytest.mark.feature("D-92")
def test_webhook_configurations_can_be_named() -> None:
    def hook(name: str, configuration: str = "") -> WebhookDeclaration:
        return admission_webhook(
            path="/x", mutating=False, groups="core", resources="pods", verbs="create", versions="v1", name=name,
            configuration=configuration,
        )  # fmt: skip

    built = webhook_configurations([hook("b.x.io", "mine"), hook("c.x.io"), hook("a.x.io")])
    assert [(each["metadata"]["name"], [hook["name"] for hook in each["webhooks"]]) for each in built] == [
        ("mine", ["b.x.io"]),
        ("validating-webhook-configuration", ["a.x.io", "c.x.io"]),
    ]


HOOK = (
    'admission_webhook(path="/x", mutating=False, groups="core", resources="pods", verbs="create", versions="v1", %s)'
)


@pytest.mark.feature("D-91")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('rbac(groups="fleet.example.com", resources="ship", verbs="get")', "unknown plural 'ship' in fleet."),
        ('rbac(groups="core", resources="servicess", verbs="get")', "'servicess' in core: expected 'services'"),
        ('rbac(groups="apps", resources="deployment/status", verbs="get")', "in apps: expected 'deployments'"),
        ('rbac(groups="core", resources="deployments", verbs="get")', "in core: expected groups='apps'"),
        ('rbac(groups="", resources="ingresses", verbs="get")', "expected groups='networking.k8s.io'"),
        ('rbac(groups="app", resources="deployments", verbs="get")', "unknown group 'app': expected 'apps'"),
        ('rbac(groups="fleet", resources="ships", verbs="get")', "unknown group 'fleet': expected a domain, such as"),
        ('rbac(groups="apps", resources="deployments", verbs="read")', "invalid verb 'read': expected some of *"),
        ('rbac(groups="apps", resources="deployments", verbs=())', "a permission requires verbs, such as verbs="),
        ('rbac(resources="pods", verbs="get")', "a permission for resources requires groups="),
        ('rbac(groups="apps", verbs="get")', "requires either resources="),
        ('rbac(urls="/x", verbs="get", namespace="n")', "urls are not namespaced: remove namespace="),
        (HOOK % 'name="x"', "invalid name 'x': expected a qualified name"),
        (HOOK.replace("/x", "x") % 'name="a.b.c"', "invalid path 'x': expected a leading /"),
        (HOOK.replace("create", "read") % 'name="a.b.c"', "invalid verb 'read'"),
        (HOOK % 'name="a.b.c", reinvocation_policy="Never"', "reinvocation_policy requires mutating=True"),
        (HOOK % 'name="a.b.c", match_policy="Some"', "invalid match_policy 'Some': expected Exact or Equivalent"),
        (HOOK % 'name="a.b.c", failure_policy="No"', "invalid failure_policy 'No': expected Fail or Ignore"),
        (HOOK % 'name="a.b.c", timeout_seconds=31', "invalid timeout_seconds 31: expected 1 to 30, or 0"),
        (HOOK % 'name="a.b.c", timeout_seconds="5"', "Expected `int`, got `str` - at `$.timeout_seconds`"),
        (HOOK % 'name="a.b.c", namespace_selector="a in b"', "invalid namespace_selector: "),
        (HOOK % 'name="a.b.c", object_selector={"a": "x y"}', "invalid object_selector: "),
        (HOOK % 'name="a.b.c", object_selector="size>3"', "'size>3' compares numbers, which manifests cannot"),
        (HOOK % 'name="a.b.c", match_conditions={"a b": "true"}', "invalid name 'a b' in match_conditions"),
        (HOOK % 'name="a.b.c", match_conditions={"a": " "}', "empty expression 'a' in match_conditions"),
        (HOOK % 'name="a.b.c", match_conditions=("true",)', "Expected `object`, got `array`"),
        (HOOK % 'name="a.b.c", match_condition={}', "Unexpected keyword argument 'match_condition'"),
    ],
)
def test_invalid_declaration_is_reported_with_its_line_and_nothing_is_written(
    tmp_path: Path, monkeypatch: Any, capsys: Any, text: str, expected: str
) -> None:
    head = "from clientgo.meta.declarations import admission_webhook, rbac\n\n"
    source, inputs = f"{head}@{text}\ndef run():\n    pass\n", ("--input-module", KINDS, "--output-package", "made")
    assert declare(tmp_path, monkeypatch, source, *inputs) == 2
    error = capsys.readouterr().err
    assert "declares.py:3: " in error
    assert expected in error
    assert [path.name for path in tmp_path.iterdir()] == ["declares.py"]


@pytest.mark.parametrize(("resource", "code"), [("credentials", 0), ("credentials/status", 0), ("credential", 2)])
def test_permissions_are_for_all_kinds_of_the_projects_group(
    tmp_path: Path, monkeypatch: Any, capsys: Any, resource: str, code: int
) -> None:
    """Kinds of another project may be of the same group."""
    file = tmp_path / "crd.yaml"
    file.write_text(CREDENTIALS.read_text().replace("credentials.example.net", "fleet.example.com"))
    rule = f'rbac(groups="fleet.example.com", resources=("ships", "{resource}"), verbs="get")'
    source, inputs = f"from clientgo.meta.declarations import rbac\n{rule}\n", ("--input-module", KINDS)
    assert declare(tmp_path, monkeypatch, source, *inputs, "--from-crd", str(file)) == code
    expected = "unknown plural 'credential' in fleet.example.com: expected one of credentials, "
    assert (expected in capsys.readouterr().err) is (code == 2)


def test_kinds_of_a_third_party_group_besides_those_of_the_crds_are_accepted(tmp_path: Path, monkeypatch: Any) -> None:
    rule = 'rbac(groups="credentials.example.net", resources="credentialsets", verbs="get")'
    source = f"from clientgo.meta.declarations import rbac\n{rule}\n"
    assert declare(tmp_path, monkeypatch, source, "--from-crd", str(CREDENTIALS)) == 0


def test_module_without_declarations_is_rejected(tmp_path: Path, capsys: Any) -> None:
    assert generate(tmp_path, "--rbac-dir", "rbac", "--declarations", KINDS) == 2
    assert "fleet.py:1: no declarations found: add @rbac(...)" in capsys.readouterr().err


def test_generator_without_output_folder_and_unknown_generator_are_rejected(tmp_path: Path, capsys: Any) -> None:
    with pytest.raises(SystemExit):
        generate(tmp_path, "--generators", "client,rbac")
    assert "--generators rbac requires --rbac-dir" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        generate(tmp_path, "--generators", "clients")
    assert "unknown generator 'clients': expected some of client,lister" in capsys.readouterr().err.replace(", ", ",")


@pytest.mark.feature("D-37", "A-48")
def test_one_generator_keeps_the_files_of_the_others(tmp_path: Path) -> None:
    assert generate(tmp_path, "--crd-dir", "crd") == 0
    assert generate(tmp_path, "--generators", "lister") == 0
    assert (tmp_path / "made/clientset/fleet_v1.py").exists()
    assert (tmp_path / "crd/fleet.example.com_ships.yaml").exists()


SOURCE = '''
"""Module that imports code not generated yet, and therefore must not be executed."""

import clientgo.meta.declarations
from clientgo.meta import declarations as alias
from clientgo.meta.declarations import rbac as permission
from never.generated import FooClient

GROUP = "apps"
VERBS: tuple[str, ...] = ("get", "list")
raise SystemExit("run")


@permission(groups=GROUP, resources="deployments", verbs=VERBS)
class Controller(FooClient):
    @alias.rbac(groups=(GROUP, "batch"), resources=["jobs"], verbs=(*VERBS, "watch"))
    def run(self):
        ...


OTHER = [clientgo.meta.declarations.rbac(urls="/metrics", verbs="get")]
'''


def declare(folder: Path, monkeypatch: Any, text: str, *more: str) -> int:
    (folder / "declares.py").write_text(text)
    return generate_roles(folder, monkeypatch, "declares", *more)


def generate_roles(folder: Path, monkeypatch: Any, name: str, *more: str) -> int:
    """Generate the roles that a module in a folder declares."""
    monkeypatch.syspath_prepend(folder)
    importlib.invalidate_caches()
    return main(["--declarations", name, "--rbac-dir", "rbac", "--root", str(folder), *more])


@pytest.mark.feature("D-90")
def test_declarations_are_read_without_importing_the_module(tmp_path: Path, monkeypatch: Any) -> None:
    assert declare(tmp_path, monkeypatch, SOURCE) == 0
    (role,) = documents(tmp_path / "rbac/role.yaml")
    assert role["rules"] == [
        {"nonResourceURLs": ["/metrics"], "verbs": ["get"]},
        {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get", "list"]},
        {"apiGroups": ["apps", "batch"], "resources": ["jobs"], "verbs": ["get", "list", "watch"]},
    ]
    assert "declares" not in sys.modules


def test_package_stands_for_its_modules_and_each_module_is_read_once(tmp_path: Path, monkeypatch: Any) -> None:
    package = tmp_path / "controlling"
    (package / "ships").mkdir(parents=True)
    for name, verb in ("__init__", ""), ("pods", "get"), ("ships/fleet", "list"), ("ships/helpers", ""):
        text = f'from clientgo.meta.declarations import rbac\nrbac(groups="core", resources="pods", verbs="{verb}")\n'
        (package / f"{name}.py").write_text(text if verb else "")
    assert generate_roles(tmp_path, monkeypatch, "controlling.pods", "--declarations", "controlling") == 0
    role = tmp_path / "rbac/role.yaml"
    assert documents(role)[0]["rules"] == [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}]
    assert "from controlling/pods.py, controlling/ships/fleet.py." in role.read_text()


HEAD = "from clientgo.meta.declarations import rbac\nfrom elsewhere import GROUP\n"


@pytest.mark.feature("D-36")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('rbac(groups=GROUP, resources="x", verbs="get")', "groups=GROUP is only known at run time"),
        ('rbac(groups="a" + "b", resources="x", verbs="get")', "use strings, or constants of this module"),
        ('rbac(groups=LOOP, resources="x", verbs="get"); LOOP = LOOP', "groups=LOOP is only known at run time"),
        ('rbac(groups="a", resources="x", verbs=("get", *GROUP))', "verbs=('get', *GROUP) is only known at run time"),
        ('rbac(groups="a", resources="x", verbs=(*"get",))', "verbs=(*'get',) is only known at run time"),
        ("rbac(**{})", "**={} is only known at run time"),
        ('rbac(group="apps", resources="x", verbs="get")', "unexpected keyword argument 'group'"),
        ('rbac("apps", resources="x", verbs="get")', "takes 0 positional arguments"),
        ("rbac(", "syntax error: "),
    ],
)
def test_declaration_that_is_not_static_is_reported_with_its_line(
    tmp_path: Path, monkeypatch: Any, capsys: Any, text: str, expected: str
) -> None:
    assert declare(tmp_path, monkeypatch, f"{HEAD}RULE = {text}\n") == 2
    error = capsys.readouterr().err
    assert "declares.py:3: " in error
    assert expected in error


def test_module_with_invalid_utf8_is_reported(tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    (tmp_path / "binary_declares.py").write_bytes(b"\xff")

    assert generate_roles(tmp_path, monkeypatch, "binary_declares") == 2
    assert "binary_declares.py: cannot read the module: invalid UTF-8" in capsys.readouterr().err


def test_package_that_cannot_be_imported_is_reported(tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    (tmp_path / "broken_package").mkdir()
    (tmp_path / "broken_package/__init__.py").write_text("1 / 0\n")

    assert generate_roles(tmp_path, monkeypatch, "broken_package.it") == 2
    expected = "broken_package.it: importing its package failed: ZeroDivisionError: division by zero"
    assert expected in capsys.readouterr().err


def test_missing_module_is_reported(tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    for name in ("nowhere", "nowhere.at_all"):
        assert generate_roles(tmp_path, monkeypatch, name) == 2
        assert capsys.readouterr().err.startswith(f"{name}: module {name} not found: give a dotted name")


NAMESPACED = """
from clientgo.meta.declarations import rbac

RULES = (
    rbac(groups=("core", "apps"), resources=("pods", "deployments/scale"), verbs="get"),
    rbac(groups="core", resources=("nodes", "namespaces"), verbs="list"),
    rbac(groups="authentication.k8s.io", resources="tokenreviews", verbs="create"),
    rbac(groups="fleet.example.com", resources=("ships", "harbours"), verbs="watch"),
    rbac(groups="others.example.com", resources="things", verbs="get"),
    rbac(groups="credentials.example.net", resources="credentials", verbs="get"),
    rbac(groups="coordination.k8s.io", resources="leases", verbs="get", namespace="leases"),
    rbac(urls="/metrics", verbs="get"),
)
"""


@pytest.mark.feature("D-90")
def test_role_namespace_keeps_cluster_scoped_permissions_in_a_cluster_role(tmp_path: Path, monkeypatch: Any) -> None:
    file = tmp_path / "crd.yaml"
    file.write_text(CREDENTIALS.read_text().replace("scope: Namespaced", "scope: Cluster"))
    more = ("--role-namespace", "here", "--input-module", KINDS, "--from-crd", str(file), "--generators", "rbac")
    assert declare(tmp_path, monkeypatch, NAMESPACED, *more) == 0
    cluster, local, leases = documents(tmp_path / "rbac/role.yaml")
    names = [(each["kind"], each["metadata"].get("namespace", "")) for each in (cluster, local, leases)]
    assert names == [("ClusterRole", ""), ("Role", "here"), ("Role", "leases")]
    resources = [[rule.get("resources", []) for rule in role["rules"]] for role in (cluster, local)]
    assert resources == [
        [[], ["namespaces", "nodes"], ["tokenreviews"], ["credentials"], ["harbours"]],
        [["deployments/scale", "pods"], ["ships"], ["things"]],
    ]


def test_folders_of_manifests_have_only_objects_that_kubectl_applies(tmp_path: Path, monkeypatch: Any) -> None:
    crds = ("--input-module", KINDS, "--crd-dir", str(tmp_path / "crd"))
    assert declare(tmp_path, monkeypatch, SOURCE, *crds) == 0
    kinds = {path.parent.name: set[str]() for path in tmp_path.rglob("*.yaml")}
    for path in tmp_path.rglob("*.yaml"):
        kinds[path.parent.name] |= {str(each["apiVersion"]).partition("/")[0] for each in documents(path)}
    assert kinds == {"crd": {"apiextensions.k8s.io"}, "rbac": {"rbac.authorization.k8s.io"}}


def test_handwritten_kustomization_is_kept(tmp_path: Path, monkeypatch: Any) -> None:
    mine = "resources:\n- role.yaml\n- binding.yaml\n"
    (tmp_path / "rbac").mkdir()
    (tmp_path / "rbac/kustomization.yaml").write_text(mine)
    assert declare(tmp_path, monkeypatch, SOURCE) == 0
    assert declare(tmp_path, monkeypatch, SOURCE, "--verify") == 0
    assert (tmp_path / "rbac/kustomization.yaml").read_text() == mine
