"""PROJECT file: kubebuilder's fields, and reading what was written."""

from pathlib import Path

import pytest
import yaml

from clientgo.cli.names import CommandError
from clientgo.cli.project import FILE, LAYOUT, Project, ProjectResource
from clientgo.version import VERSION


@pytest.mark.feature("A-61")
@pytest.mark.feature("E-07")
def test_project_file_has_the_kubebuilder_fields(tmp_path: Path) -> None:
    foo = ProjectResource(group="tsi", domain="tiduyun.com", version="v1alpha1", kind="IPPool", plural="ippools")
    foo.api, foo.namespaced, foo.controller, foo.webhooks = True, False, True, {"defaulting": True}
    Project(name="ippool", domain="tiduyun.com", repo="example.com/ippool", resources=[foo]).write(tmp_path)

    assert yaml.safe_load((tmp_path / FILE).read_text()) == {
        "cliVersion": VERSION,
        "domain": "tiduyun.com",
        "layout": [LAYOUT],
        "projectName": "ippool",
        "repo": "example.com/ippool",
        "resources": [
            {
                "api": {"crdVersion": "v1", "namespaced": False},
                "controller": True,
                "domain": "tiduyun.com",
                "group": "tsi",
                "kind": "IPPool",
                "path": "api.v1alpha1",
                "version": "v1alpha1",
                "webhooks": {"defaulting": True, "webhookVersion": "v1"},
            }
        ],
        "version": "3",
    }


@pytest.mark.parametrize("plural", ["foos", "fooen"])
@pytest.mark.parametrize("several", [False, True])
def test_project_file_round_trips(tmp_path: Path, plural: str, several: bool) -> None:
    foo = ProjectResource(
        group="g", domain="example.com", version="v1", kind="Foo", plural=plural, api=True, controller=True
    )
    foo.grouped = several
    project = Project(name="foo", domain="example.com", multigroup=several, namespaced=several, cli_version="0.0.9")
    project.resources.append(foo)
    project.write(tmp_path)

    assert Project.read(tmp_path) == project


def test_folder_without_project_file_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="no project in this folder"):
        Project.read(tmp_path)


@pytest.mark.parametrize("text", ["", "[]", "{", "layout: 1", f"layout: [{LAYOUT}]", "\x00", "[" * 5000])
def test_invalid_project_file_is_rejected(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE).write_text(text)

    with pytest.raises(CommandError, match="invalid PROJECT"):
        Project.read(tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("projectName: foo", "projectName: ../foo", "invalid project name '../foo'"),
        ("domain: example.com", "domain: a b", "invalid domain 'a b'"),
        ("kind: Foo", "kind: ../Foo", "invalid kind '../Foo'"),
        ("version: v1", "version: v0", "invalid version 'v0'"),
        ("version: v1", "version: v1\n  webhooks: {spoke: 5}", "restore it from version control"),
        ("version: v1", "version: v1\n  webhooks: {spoke: [../v2]}", "invalid version '../v2'"),
        ("version: v1", "version: v1\n  webhooks: {defaultingPath: /a\\nb}", "invalid webhook path"),
        ("version: v1", "version: v1\n  plural: ../../x", "invalid plural '../../x'"),
        ("version: v1", "version: v1\n  controllers: [{name: ../../x}]", "invalid controller name '../../x'"),
        ("  domain: example.com", "  domain: ../x", "invalid domain '../x'"),
        ("kind: Foo", "kind: Foo\n  core: true\n  group: ../x", "invalid group '../x'"),
        ("path: api.v1", "path: os;x\n  external: true", "invalid module 'os;x'"),
        (f"cliVersion: {VERSION}", "cliVersion: 1 >>> x", "invalid release '1 >>> x'"),
    ],
)
def test_invalid_name_in_the_project_file_is_rejected(tmp_path: Path, old: str, new: str, expected: str) -> None:
    project = Project(name="foo", domain="example.com")
    project.resources.append(
        ProjectResource(group="g", domain="example.com", version="v1", kind="Foo", plural="foos", api=True)
    )
    project.write(tmp_path)
    (tmp_path / FILE).write_text((tmp_path / FILE).read_text().replace(old, new))

    with pytest.raises(CommandError, match="invalid PROJECT: ") as raised:
        Project.read(tmp_path)
    assert expected in str(raised.value)


def test_project_of_another_layout_is_rejected(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("layout: [go.kubebuilder.io/v4]\n")

    with pytest.raises(CommandError, match=r"unknown layout go.kubebuilder.io/v4 in PROJECT"):
        Project.read(tmp_path)
