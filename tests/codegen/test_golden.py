"""Golden files of generated code, compared byte for byte, and their use with a server.

After an intended change, run CLIENTGO_UPDATE_GOLDEN=1 pytest tests/codegen/test_golden.py and review the diff.
"""

import importlib
import os
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from apiserver.tests.inprocess import DEFINITIONS, Kube
from clientgo.meta import from_dict, to_dict
from tests.codegen.filling import sample_value
from tests.codegen.generating import CREDENTIALS, as_text, generate, importable

GOLDEN = Path(__file__).with_name("golden")
CREDENTIAL = ("--from-crd", str(CREDENTIALS))
CASES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "foo": (("controller.api.v1alpha1",), ()),
    "foo_c9g": (("foo_c9g",), ()),
    "ippool": (("ippool",), ()),
    "home": (("home",), ()),
    "shelf": (("shelf_v1", "shelf_v1beta1"), ()),
    "fleet": (("fleet",), ("--rbac-dir", "rbac", "--webhook-dir", "webhook", "--openapi-dir", "openapi",
                           "--declarations", "tests.codegen.kinds.harbour_master")),
    "credentials": ((), CREDENTIAL),
    "workshop": (("workshop",), ()),
}  # fmt: skip


LINES = {"workshop": 110}
"""Maximum number of lines of a module, if not 70: additional methods make a client longer."""


@pytest.mark.parametrize("case", CASES)
@pytest.mark.feature("A-51", "D-51", "D-52", "D-53", "D-82", "A-53", "D-91", "A-47", "D-54")
def test_generated_files_match_the_golden_file(case: str, tmp_path: Path) -> None:
    modules, more = CASES[case]
    generate(tmp_path, *modules, more=more)
    result, golden = as_text(tmp_path), GOLDEN / f"{case}.txt"
    if os.environ.get("CLIENTGO_UPDATE_GOLDEN"):
        golden.write_text(result)
    assert result == golden.read_text()


@pytest.mark.parametrize("case", CASES)
def test_generated_bindings_are_short_without_branches_or_loops(case: str) -> None:
    files = (GOLDEN / f"{case}.txt").read_text().split("=== ")
    for name, _, text in (file.partition("\n") for file in files if file):
        if name.endswith(".py") and not name.startswith(("made/types/", "made/applyconfigurations/", "made/openapi/")):
            assert len(text.splitlines()) <= LINES.get(case, 70), name
            # Only branches on TYPE_CHECKING are allowed.
            assert not re.search(r"^\s*(if (?!TYPE_CHECKING:)|for\b|while\b|try\b)", text, re.MULTILINE), name


SERVED = [
    pytest.param("foo", "foos", "controller.api.v1alpha1:v1alpha1", (), id="foo"),
    pytest.param("foo_c9g", "foos", "tests.codegen.kinds.foo_c9g:v1", (), id="foo in another group"),
    pytest.param("ippool", "ippools", "tests.codegen.kinds.ippool:v1", (), id="cluster-scoped"),
    pytest.param("home", "homes", "tests.codegen.kinds.home:v1", (), id="home"),
    pytest.param("shelf", "shelves", "tests.codegen.kinds.shelf_v1:v1", (), id="stored version"),
    pytest.param("shelf", "shelves", "tests.codegen.kinds.shelf_v1beta1:v1beta1", (), id="served version"),
    pytest.param("fleet", "ships", "tests.codegen.kinds.fleet:v1", ("sail", "flag"), id="every schema keyword"),
    pytest.param("fleet", "harbours", "tests.codegen.kinds.fleet:v1", (), id="without status"),
    pytest.param("fleet", "log-entries", "tests.codegen.kinds.fleet:v1", (), id="with few verbs"),
    pytest.param("credentials", "credentials", "made_credentials.types.credentials_v1:v1",
                 ("renewBefore", "password"), id="foreign CRD"),
]  # fmt: skip


@pytest.mark.feature("A-17", "A-19", "A-34")
@pytest.mark.parametrize(("case", "plural", "location", "without"), SERVED)
def test_server_accepts_the_crd_and_keeps_every_field_of_an_object(
    case: str, plural: str, location: str, without: tuple[str, ...], tmp_path: Path
) -> None:
    modules, more = CASES[case]
    generate(tmp_path, *modules, more=more, package=f"made_{case}")
    definition = next(each for each in definitions(tmp_path) if each["spec"]["names"]["plural"] == plural)
    definition["spec"].pop("conversion", None)  # no conversion webhook runs here
    module, _, expected = location.partition(":")
    version = next(version for version in definition["spec"]["versions"] if version["name"] == expected)
    kube = Kube()
    if case == "foo":  # served from the start, from a schema of its own
        kube.ok("DELETE", f"{DEFINITIONS}/{definition['metadata']['name']}")
    kube.ok("POST", DEFINITIONS, definition)
    with importable(tmp_path, f"made_{case}"):
        cls = getattr(importlib.import_module(module), definition["spec"]["names"]["kind"])
        check_round_trip(kube, definition["spec"], version, cls, frozenset(without))


def definitions(folder: Path) -> list[Any]:
    written = [yaml.safe_load(path.read_text()) for path in (folder / "crd").glob("*_*.yaml")]
    return written or [yaml.safe_load(CREDENTIALS.read_text())]


def check_round_trip(kube: Kube, spec: Any, version: Any, cls: type[Any], without: frozenset[str]) -> None:
    schema = version["schema"]["openAPIV3Schema"]
    content = {key: value for key, value in sample_value(schema, without).items() if key not in ("apiVersion", "kind")}
    content["metadata"] = {"name": "full"}
    names = spec["names"]
    space = "" if spec["scope"] == "Cluster" else "namespaces/default/"
    path = f"/apis/{spec['group']}/{version['name']}/{space}{names['plural']}"
    sent = to_dict(from_dict(cls, content))
    assert {key: sent[key] for key in content} == content, "the class loses nothing"
    kube.ok("POST", path, sent)
    if "status" in content and "subresources" in version:
        kube.ok("PUT", f"{path}/full/status", {**kube.ok("GET", f"{path}/full"), "status": sent["status"]})
    stored = kube.ok("GET", f"{path}/full")
    retained = to_dict(from_dict(cls, stored))
    for key in content.keys() - {"metadata"}:
        assert stored[key] == content[key], "the server keeps everything"
        assert retained[key] == content[key], "and the class everything that the server has"
