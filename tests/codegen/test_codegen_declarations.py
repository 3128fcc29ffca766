"""Permissions and webhooks: declared at the controller, joined and sorted in manifests, wrong ones refused."""

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from clientgo.codegen.__main__ import main
from clientgo.codegen.rbac import roles
from clientgo.meta.declarations import rbac

KINDS = "tests.codegen.kinds.fleet"
MASTER = "tests.codegen.kinds.harbour_master"


def generate(folder: Path, *more: str) -> int:
    return main(["--input-module", KINDS, "--output-package", "made", "--root", str(folder), *more])


def documents(path: Path) -> list[Any]:
    return list(yaml.safe_load_all(path.read_text()))


def rules(*declared: Any) -> Any:
    return roles(declared, "r")[0]["rules"]


@pytest.mark.feature("A-52")
def test_permissions_are_joined_and_sorted(tmp_path: Path) -> None:
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


def test_groups_are_joined_when_all_else_is_equal_and_order_of_declaration_does_not_matter() -> None:
    declared = [
        rbac(groups="b.io", resources="things", verbs=("list", "get")),
        rbac(groups="a.io", resources="things", verbs=("get", "list")),
        rbac(groups="a.io", resources="things", verbs="get"),
    ]
    joined = [{"apiGroups": ["a.io", "b.io"], "resources": ["things"], "verbs": ["get", "list"]}]
    assert rules(*declared) == rules(*reversed(declared)) == joined


def test_a_permission_of_one_name_is_not_widened_to_all() -> None:
    one = rbac(groups="a.io", resources="things", verbs="get", resource_names="x")
    assert len(rules(one, rbac(groups="a.io", resources="things", verbs="list"))) == 2


def test_people_who_edit_and_people_who_look_have_roles_of_their_own(tmp_path: Path) -> None:
    assert generate(tmp_path, "--generators", "rbac", "--rbac-dir", "rbac") == 0
    assert not (tmp_path / "made").exists()
    (editor,) = documents(tmp_path / "rbac/fleet.example.com_ship_editor_role.yaml")
    assert editor["metadata"] == {"name": "ship-editor-role"}
    assert editor["rules"] == [
        {
            "apiGroups": ["fleet.example.com"],
            "resources": ["ships"],
            "verbs": ["create", "delete", "get", "list", "patch", "update", "watch"],
        },
        {"apiGroups": ["fleet.example.com"], "resources": ["ships/status"], "verbs": ["get"]},
    ]
    (viewer,) = documents(tmp_path / "rbac/fleet.example.com_harbour_viewer_role.yaml")
    assert viewer["rules"] == [
        {"apiGroups": ["fleet.example.com"], "resources": ["harbours"], "verbs": ["get", "list", "watch"]}
    ]


@pytest.mark.feature("A-53")
def test_webhooks_are_two_configurations_sorted_by_name(tmp_path: Path) -> None:
    assert generate(tmp_path, "--webhook-dir", "hooks", "--declarations", MASTER) == 0
    mutating, validating = documents(tmp_path / "hooks/manifests.yaml")
    assert (mutating["kind"], validating["kind"]) == ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
    assert mutating["webhooks"] == [
        {
            "admissionReviewVersions": ["v1"],
            "clientConfig": {"service": {"name": "webhook-service", "namespace": "system", "path": "/mutate-ships"}},
            "failurePolicy": "Ignore",
            "name": "mship.fleet.example.com",
            "reinvocationPolicy": "IfNeeded",
            "rules": [
                {
                    "apiGroups": ["fleet.example.com"],
                    "apiVersions": ["v1"],
                    "operations": ["CREATE", "UPDATE"],
                    "resources": ["ships"],
                }
            ],
            "sideEffects": "None",
            "timeoutSeconds": 5,
        }
    ]
    assert [hook["name"] for hook in validating["webhooks"]] == ["apods.fleet.example.com", "vship.fleet.example.com"]
    assert validating["webhooks"][0]["clientConfig"] == {"url": "https://elsewhere.example.com/harbours"}
    assert validating["webhooks"][1]["clientConfig"]["service"]["port"] == 8443


HOOK = (
    'admission_webhook(path="/x", mutating=False, groups="core", resources="pods", verbs="create", versions="v1", %s)'
)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('rbac(groups="fleet.example.com", resources="ship", verbs="get")', "the plural 'ship' is unknown in fleet."),
        ('rbac(groups="apps", resources="deployments", verbs="read")', "the verb 'read' is unknown: write some of *"),
        ('rbac(groups="apps", resources="deployments", verbs=())', "a permission without verbs: write verbs="),
        ('rbac(resources="pods", verbs="get")', "names their group: write groups="),
        ('rbac(groups="apps", verbs="get")', "is for resources or for urls: write resources="),
        ('rbac(urls="/x", verbs="get", namespace="n")', "urls belong to no namespace: leave namespace= out"),
        (HOOK % 'name="x"', "the name 'x' is not qualified: write one with two dots"),
        (HOOK.replace("/x", "x") % 'name="a.b.c"', "the path 'x' is none: write one that begins with /"),
        (HOOK.replace("create", "read") % 'name="a.b.c"', "the verb 'read' is unknown"),
        (HOOK % 'name="a.b.c", reinvocation_policy="Never"', "is for mutating webhooks"),
    ],
)
def test_a_wrong_declaration_is_told_with_its_line_and_nothing_written(
    tmp_path: Path, monkeypatch: Any, capsys: Any, text: str, told: str
) -> None:
    name = f"declared_{abs(hash(text))}"
    head = "from clientgo.meta.declarations import admission_webhook, rbac\n\n"
    (tmp_path / f"{name}.py").write_text(f"{head}@{text}\ndef run():\n    pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    try:
        assert generate(tmp_path, "--rbac-dir", "rbac", "--declarations", name) == 1
    finally:
        sys.modules.pop(name, None)
    said = capsys.readouterr().err
    assert f"{name}.py:3: " in said
    assert told in said
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_dir()) in ([], ["__pycache__"])


def test_a_module_that_declares_nothing_is_told(tmp_path: Path, capsys: Any) -> None:
    assert generate(tmp_path, "--rbac-dir", "rbac", "--declarations", KINDS) == 1
    assert "fleet.py:1: nothing is declared here: write @rbac(...)" in capsys.readouterr().err


def test_a_generator_without_a_folder_is_told(tmp_path: Path, capsys: Any) -> None:
    with pytest.raises(SystemExit):
        generate(tmp_path, "--generators", "client,rbac")
    assert "--generators rbac needs --rbac-dir" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        generate(tmp_path, "--generators", "clients")
    assert "there is no generator 'clients': write some of client,lister" in capsys.readouterr().err.replace(", ", ",")


def test_one_generator_leaves_the_files_of_the_others_alone(tmp_path: Path) -> None:
    assert generate(tmp_path, "--crd-dir", "crd") == 0
    assert generate(tmp_path, "--generators", "lister") == 0
    assert (tmp_path / "made/clientset/fleet_v1.py").exists()
    assert (tmp_path / "crd/fleet.example.com_ships.yaml").exists()


@pytest.mark.feature("A-47")
def test_schemas_alone_are_one_document_for_each_version(tmp_path: Path) -> None:
    assert generate(tmp_path, "--generators", "openapi", "--openapi-dir", "openapi") == 0
    (document,) = documents(tmp_path / "openapi/fleet.example.com_v1.yaml")
    schemas = document["components"]["schemas"]
    assert sorted(schemas) == [
        "com.example.fleet.v1.Harbour",
        "com.example.fleet.v1.LogEntry",
        "com.example.fleet.v1.Ship",
    ]
    assert schemas["com.example.fleet.v1.Ship"]["x-kubernetes-group-version-kind"] == [
        {"group": "fleet.example.com", "kind": "Ship", "version": "v1"}
    ]
