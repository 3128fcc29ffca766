"""Code generation command on new projects: working and reproducible output."""

import json
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import yaml

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).resolve().parents[2]

KINDS = """
    from dataclasses import dataclass
    from clientgo.meta import Column, Int32, ObjectMeta, ScaleSubresource, api_type

    @dataclass(frozen=True, slots=True)
    class Spec:
        cidr: str
        block_size: Int32 = 26

    @dataclass(frozen=True, slots=True)
    class Status:
        used: Int32 | None = None
"""
POOLS = f"""{KINDS}
    @api_type(group="tsi.tiduyun.com", version="v1", scope="Cluster", short_names=("ipp",), categories=("all",))
    @dataclass(frozen=True, slots=True)
    class IPPool:
        metadata: ObjectMeta
        spec: Spec
        status: Status = Status()

    @api_type(group="tsi.tiduyun.com", version="v1", status=False, plural="fleet-of-ships", singular="ship")
    @dataclass(frozen=True, slots=True)
    class Ship:
        metadata: ObjectMeta

    @api_type(group="tsi.tiduyun.com", version="v1", status=False, verbs=("get", "create"))
    @dataclass(frozen=True, slots=True)
    class Receipt:
        metadata: ObjectMeta
"""
HOME = f"""{KINDS}
    @api_type(group="ajd.my.domain", version="VERSION", storage=STORED,
              scale=ScaleSubresource(".spec.blockSize", ".status.used"),
              columns=(Column("Cidr", "string", ".spec.cidr", priority=1),))
    @dataclass(frozen=True, slots=True)
    class Home:
        metadata: ObjectMeta
        spec: Spec
        status: Status = Status()
"""


def run(folder: Path, *arguments: str, path: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        # No bytecode: Python would not detect a source changed within a second to the same length.
        env={"PYTHONPATH": path or f"{folder}:{ROOT}", "PATH": os.defpath, "PYTHONDONTWRITEBYTECODE": "1"},
        timeout=60,
    )


def generate(folder: Path, *modules: str, more: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    inputs = [part for module in modules for part in ("--input", module)]
    options = ("--output-package", "made", "--crd-dir", "crd", *more)
    return run(folder, "-m", "clientgo.codegen", *inputs, *options)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pools.py").write_text(textwrap.dedent(POOLS))
    for version, stored in (("v1", "True"), ("v1beta1", "False")):
        text = HOME.replace("VERSION", version).replace("STORED", stored)
        (tmp_path / f"home_{version}.py").write_text(textwrap.dedent(text))
    return tmp_path


MODULES = ("pools", "home_v1", "home_v1beta1")


def crd(folder: Path, name: str) -> dict[str, object]:
    return dict(yaml.safe_load((folder / "crd" / name).read_text())["spec"])


def tree(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*.*") if "__pycache__" not in p.parts}


@pytest.mark.feature("A-48")
def test_second_run_changes_nothing_and_verify_succeeds(project: Path) -> None:
    assert generate(project, *MODULES).returncode == 0
    first = tree(project)
    assert generate(project, *MODULES).stdout == ""
    assert generate(project, *MODULES, more=("--verify",)).returncode == 0
    assert tree(project) == first
    assert not [name for name, text in first.items() if str(project).encode() in text]


def test_installed_script_imports_modules_of_the_current_folder(project: Path) -> None:
    # With -P the path lacks the folder, as that of a script does.
    response = run(project, "-P", "-m", "clientgo.codegen", "--input", "pools", "--crd-dir", "crd", path=str(ROOT))
    assert (response.returncode, response.stderr) == (0, "")
    assert crd(project, "tsi.tiduyun.com_ippools.yaml")


@pytest.mark.feature("A-48", "D-39")
def test_verify_shows_the_difference_and_writes_nothing(project: Path) -> None:
    generate(project, *MODULES)
    (project / "pools.py").write_text((project / "pools.py").read_text().replace("block_size", "chunk_size"))
    before = tree(project)
    response = generate(project, "pools", "home_v1", "home_v1beta1", more=("--verify",))
    assert response.returncode == 1
    assert "--- a/crd/tsi.tiduyun.com_ippools.yaml" in response.stdout
    assert "+              chunkSize:" in response.stdout
    assert response.stderr == "generated files are out of date: run clientgo-codegen\n"
    assert tree(project) == before


def test_generated_code_is_formatted_and_passes_the_linter(project: Path) -> None:
    generate(project, *MODULES, more=("--header", str(ROOT / "hack/boilerplate.py.txt")))
    for arguments in (("check", "--select=E,F,W,I,UP,B,D1", "--ignore=D107", "made"), ("format", "--check", "made")):
        result = run(project, "-m", "ruff", *arguments, "--isolated", "--line-length=120")
        assert result.returncode == 0, result.stdout + result.stderr


USE = """
    import json
    from clientgo.meta import ObjectMeta
    from home_v1beta1 import Home, Spec
    from pools import IPPool
    import pools
    from made.clientset.fake import FakeClientset
    from made.informers import SharedInformerFactory

    pool = IPPool(ObjectMeta(name="p"), pools.Spec("10.0.0.0/8"))
    clientset = FakeClientset(pool)
    clientset.ajd_v1beta1.homes("ns").create(Home(ObjectMeta(name="h"), Spec("x", 5)))
    factory = SharedInformerFactory(clientset)
    print(json.dumps([
        clientset.tsi_v1.ip_pools().get("p").spec.block_size,
        clientset.ajd_v1beta1.homes("ns").get("h").spec.block_size,
        hasattr(clientset.ajd_v1beta1.homes("ns"), "update_scale"),
        hasattr(clientset.tsi_v1.fleet_of_ships("ns"), "update_status"),
        factory.ajd.v1beta1.homes.kind.__module__,
        hasattr(factory.tsi.v1, "receipts"),
        hasattr(factory.tsi.v1.ip_pools.lister, "ip_pools"),
    ]))
"""


@pytest.mark.feature("A-41", "D-06", "D-17", "D-31", "D-32", "D-61")
@pytest.mark.feature("A-44")
def test_clients_of_several_groups_versions_and_scopes_work(project: Path) -> None:
    generate(project, *MODULES)
    result = run(project, "-c", textwrap.dedent(USE))
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout) == [26, 5, True, False, "home_v1beta1", False, False]


@pytest.mark.feature("D-56", "D-61")
@pytest.mark.parametrize(
    ("options", "versions"), [("served=False", [("v1", True), ("v1beta1", False)]), ("crd=False", [("v1", True)])]
)
def test_version_can_be_unserved_or_omitted_from_the_crd(
    project: Path, options: str, versions: list[tuple[str, bool]]
) -> None:
    older = project / "home_v1beta1.py"
    older.write_text(older.read_text().replace("storage=False", f"storage=False, {options}"))
    assert generate(project, "home_v1", "home_v1beta1").returncode == 0
    built = crd(project, "ajd.my.domain_homes.yaml")["versions"]
    assert isinstance(built, list)
    assert [(version["name"], version["served"]) for version in built] == versions


def test_class_of_a_kind_that_another_project_defines_has_clients_and_no_crd(project: Path) -> None:
    (project / "theirs.py").write_text(
        (project / "home_v1.py").read_text().replace('group="ajd.my.domain"', 'group="ajd.my.domain", crd=False')
    )
    assert generate(project, "theirs").returncode == 0
    assert (project / "made/clientset/ajd_v1.py").exists()
    assert not (project / "crd").exists()


def test_files_of_a_removed_kind_are_deleted_and_handwritten_ones_kept(project: Path) -> None:
    generate(project, *MODULES)
    (project / "made/notes.py").write_text("mine = 1\n")
    generate(project, "pools")
    assert not (project / "made/clientset/ajd_v1.py").exists()
    assert not (project / "crd/ajd.my.domain_homes.yaml").exists()
    assert (project / "made/notes.py").exists()


def test_handwritten_file_is_not_overwritten(project: Path) -> None:
    (project / "made").mkdir()
    (project / "made/__init__.py").write_text("mine = 1\n")
    response = generate(project, *MODULES)
    assert (response.returncode, response.stderr.count("\n")) == (2, 1)
    assert "was not generated by clientgo-codegen" in response.stderr
    assert [p.name for p in (project / "made").rglob("*.*")] == ["__init__.py"]


@pytest.mark.feature("D-32")
def test_groups_with_the_same_first_label_get_full_names(project: Path) -> None:
    text = (project / "pools.py").read_text().replace("tsi.tiduyun.com", "tsi.example.org")
    (project / "others.py").write_text(text)
    assert generate(project, "pools", "others").returncode == 0
    names = {path.stem for path in (project / "made/clientset").glob("tsi*")}
    assert names == {"tsi_tiduyun_com_v1", "tsi_example_org_v1"}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for part in ("controller/__init__.py", "controller/api", "hack", "generated", "artifacts/crd"):
        source, target = ROOT / part, tmp_path / part
        target.parent.mkdir(parents=True, exist_ok=True)
        copy = shutil.copytree if source.is_dir() else shutil.copy
        copy(source, target)
    return tmp_path


FOO = ("--input", "controller.api.v1alpha1", "--output-package", "generated", "--crd-dir", "artifacts/crd",
       "--header", "hack/boilerplate.py.txt", "--command", "hack/update-codegen.sh")  # fmt: skip


def test_new_field_of_foo_is_generated_everywhere(checkout: Path) -> None:
    api = checkout / "controller/api/v1alpha1.py"
    line = "    deployment_name: "
    api.write_text(api.read_text().replace(line, f"    image_name: str\n{line}", 1))
    assert run(checkout, "-m", "clientgo.codegen", *FOO, "--verify").returncode == 1
    assert run(checkout, "-m", "clientgo.codegen", *FOO).returncode == 0
    spec = yaml.safe_load((checkout / "artifacts/crd/samplecontroller.k8s.io_foos.yaml").read_text())["spec"]
    schema = spec["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    assert schema["properties"]["imageName"] == {"type": "string"}
    assert schema["required"] == ["imageName", "deploymentName"]
    use = """
        from clientgo.meta import ObjectMeta, encode
        from controller.api.v1alpha1 import Foo, FooSpec
        from generated.clientset.fake import FakeClientset
        foo = Foo(ObjectMeta(name="f", namespace="ns"), FooSpec("nginx", "f"))
        assert b'"imageName":"nginx"' in encode(foo)
        print(FakeClientset(foo).samplecontroller_v1alpha1.foos().list().items[0].spec.image_name)
    """
    result = run(checkout, "-c", textwrap.dedent(use))
    assert result.stdout == "nginx\n", result.stderr


def test_checked_in_code_is_up_to_date() -> None:
    result = run(ROOT, "-m", "clientgo.codegen", "--config", "hack/codegen.yaml", "--verify")
    assert (result.stdout, result.stderr) == ("", "")
