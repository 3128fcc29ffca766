"""Errors for invalid input: every problem is reported with its location and fix, and nothing is written."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).resolve().parents[3]
HEAD = """\
from dataclasses import dataclass
from clientgo.meta import Column, Int32, ObjectMeta, ScaleSubresource, api_type
"""


def error_output(folder: Path, text: str, *more: str, module: str = "kinds") -> str:
    """Run the command on a module with this text and return its error output."""
    (folder / "kinds.py").write_text(HEAD + textwrap.dedent(text))
    arguments = ["--input", module, "--output-package", "made", "--crd-dir", "crd", *more]
    result = subprocess.run(
        [sys.executable, "-m", "clientgo.codegen", *arguments], cwd=folder, capture_output=True, text=True,
        check=False, env={**os.environ, "PYTHONPATH": f"{folder}:{ROOT}"}, timeout=60,
    )  # fmt: skip
    assert (result.returncode, result.stdout) == (2, "")
    assert not (folder / "made").exists()
    assert not (folder / "crd").exists()
    assert "Traceback" not in result.stderr
    return result.stderr


MARK = '@api_type(group="g.io", version="v1"%s)\n@dataclass(frozen=True)\n'


@pytest.mark.feature("A-49")
@pytest.mark.parametrize(
    ("field", "words"),
    [
        ("size: int = Decimal(1)", "Decimal has no JSON form: use str(value)"),
        ("size: Annotated[float, Meta(allow_float=True)] = nan", "nan is not a JSON number: use a finite number"),
        ('size: str = "\\ud800"', "the text has a lone surrogate, which is no character"),
    ],
    ids=["class", "number", "text"],
)
def test_default_without_a_json_form_is_reported(tmp_path: Path, field: str, words: str) -> None:
    imports = "from decimal import Decimal\nfrom math import nan\nfrom typing import Annotated\n"
    text = MARK % ", status=False" + f"class A:\n    metadata: ObjectMeta\n    {field}\n"
    (line,) = error_output(tmp_path, f"{imports}from clientgo.meta import Meta\n{text}").splitlines()
    assert line.startswith(f"kinds.py:11: A.size: invalid default: cannot encode the value as JSON: {words}")


@pytest.mark.feature("A-49")
def test_every_problem_is_reported_with_its_line(tmp_path: Path) -> None:
    text = MARK % "" + "class A:\n    metadata: ObjectMeta\n    size: float = 1.5\n    tags: set[str] = frozenset()\n"
    assert error_output(tmp_path, text).splitlines() == [
        "kinds.py:5: A has no field status: add one, or use @api_type(..., status=False)",
        "kinds.py:7: A.size: floats differ between languages: use an int of a smaller unit or a str, or allow them"
        " with Annotated[float, Meta(allow_float=True)] or --allow-floats",
        "kinds.py:8: A.tags: set[str] has no schema: use tuple[X, ...]",
    ]


@pytest.mark.feature("D-50", "D-55")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("", "no class has @api_type(group=, version=)", id="no kinds"),
        pytest.param("x = 1 +\n", "kinds.py:3: importing kinds failed", id="syntax error"),
        pytest.param(
            "import gone.away\n", "kinds.py:3: importing kinds failed: No module named 'gone'", id="import error"
        ),
        pytest.param("import sys\nsys.exit(3)\n", "kinds.py:4: importing kinds failed: it exits with code 3",
                     id="exit"),
        pytest.param("x = undefined\n", "kinds.py:3: importing kinds failed: name 'undefined'", id="name error"),
        pytest.param("from clientgo.meta.quantities import ParsedQuantity\n\nSIZE = ParsedQuantity('3 GB')\n",
                     "kinds.py:5: importing kinds failed: invalid quantity", id="error of the library"),
        pytest.param(
            "@dataclass\nclass B:\n    names: list[str] = []\n",
            "kinds.py:5: importing kinds failed: mutable default <class 'list'> for field names is not allowed: use"
            " default_factory here (write tuple[X, ...] = () or Mapping[str, X] = EMPTY_MAP, from clientgo.meta)",
            id="mutable default",
        ),
        pytest.param('@api_type(group="g.io", version="v1")\nclass A:\n    pass\n',
                     "kinds.py:4: A is not a dataclass: add @dataclass(frozen=True, slots=True)", id="no dataclass"),
        pytest.param(
            '@api_type(group="g.io", version="v1", status=False)\n@dataclass\nclass A:\n    metadata: ObjectMeta\n',
            "kinds.py:5: A is mutable: use @dataclass(frozen=True, slots=True)",
            id="not frozen",
        ),
        pytest.param(MARK % ", status=False" + "class A:\n    metadata: ObjectMeta\n    size = 3\n",
                     "kinds.py:7: A.size: missing annotation: write `size: int = ...`", id="missing annotation"),
        pytest.param(MARK % ", status=False" + "class A:\n    metadata: ObjectMeta\n    tags: set[str]\n",
                     "kinds.py:7: A.tags: set[str] has no schema: use tuple[X, ...]", id="type without schema"),
        pytest.param(
            "@dataclass(frozen=True)\nclass Ring:\n    inner: 'Ring | None' = None\n"
            + (MARK % ", status=False" + "class A:\n    metadata: ObjectMeta\n    ring: Ring\n"),
            "kinds.py:4: Ring is recursive, which a structural schema cannot express: use Mapping[str, Any]",
            id="recursive",
        ),
        pytest.param(MARK % ", status=False" + "class A:\n    name: str\n",
                     "kinds.py:5: A has no metadata: add `metadata: ObjectMeta`", id="no metadata"),
        pytest.param(MARK % ", status=False" + 'class A:\n    metadata: ObjectMeta\n    other: "Missing"\n',
                     "cannot read the annotations of A: name 'Missing' is not defined", id="unknown annotation"),
        pytest.param(
            (MARK % ", status=False" + "class A:\n    metadata: ObjectMeta\n")
            + (MARK % ", status=False, plural='as'" + "class B:\n    metadata: ObjectMeta\n"),
            "kinds.py:9: as.g.io/v1 is already defined at kinds.py:5: use another plural=",
            id="two kinds of one plural",
        ),
        pytest.param(
            (MARK % ", status=False" + "class A:\n    metadata: ObjectMeta\n")
            + '@api_type(group="g.io", version="v2", kind="A", status=False)\n'
            + "@dataclass(frozen=True)\nclass A2:\n    metadata: ObjectMeta\n",
            "invalid storage versions of A (v1, v2): set storage=False in all but one of the CRD",
            id="two storage versions",
        ),
        pytest.param(MARK % ", status=False, storage=False" + "class A:\n    metadata: ObjectMeta\n",
                     "invalid storage versions of A (none)", id="no storage version"),
        pytest.param(
            MARK % ", status=False, scale=ScaleSubresource('.spec.replicas', '.x')"
            + "class A:\n    metadata: ObjectMeta\n",
            "path not found: .spec.replicas (A has no spec",
            id="path to nowhere",
        ),
    ],
)  # fmt: skip
def test_problem_is_reported_with_its_fix(tmp_path: Path, text: str, expected: str) -> None:
    assert expected in error_output(tmp_path, text)


@pytest.mark.feature("D-36")
@pytest.mark.parametrize(
    ("mark", "expected"),
    [
        ('group="gio", version="v1"', "invalid group 'gio': expected a domain"),
        ('group="g.io", version="V1"', "invalid version 'V1': expected lower case letters"),
        ('group="g.io", version="v1", plural="As"', "invalid plural 'As': expected lower case letters"),
        ('group="g.io", version="v1", short_names=("a_b",)', "invalid short name 'a_b'"),
        ('group="g.io", version="v1", categories=("All",)', "invalid category 'All'"),
        ('group="g.io", version="v1", kind="a"', "invalid kind 'a': expected CamelCase"),
        ('group="g.io", version="v1", scope="Namespace"', "expected one of Namespaced, Cluster"),
        ('group="g.io", version="v1", verbs=("fetch",)', "invalid verb 'fetch': expected some of get, list"),
        ('group="g.io", version="v1", deprecation_warning="x"', "can only be set for deprecated versions"),
        ('group="a.k8s.io", version="v1"', 'annotations=(("api-approved.kubernetes.io", "unapproved'),
        ('group="g.io", version="v1", columns=(Column("N", "string", ".spec.x"),)', "path not found: .spec.x"),
        (
            """group="g.io", version="v1", columns=(Column("N", "string", ".a[?(@.b='c')].d"),)""",
            "unexpected \"[?(@.b='c')].d\"",
        ),
    ],
)
def test_invalid_api_type_option_is_reported_with_its_line(tmp_path: Path, mark: str, expected: str) -> None:
    text = f"@api_type({mark}, status=False)\n@dataclass(frozen=True)\nclass A:\n    metadata: ObjectMeta\n"
    error = error_output(tmp_path, text)
    assert expected in error
    assert error.startswith("kinds.py:5: ")


def test_missing_module_is_reported(tmp_path: Path) -> None:
    assert "absent: module absent not found: give a dotted name" in error_output(tmp_path, "", module="absent")


def test_missing_boilerplate_is_reported(tmp_path: Path) -> None:
    text = MARK % ", status=False" + "class A:\n    metadata: ObjectMeta\n"
    assert "absent.txt: cannot read the boilerplate: No such file" in error_output(
        tmp_path, text, "--header", "absent.txt"
    )
