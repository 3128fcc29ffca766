"""Untrusted CRDs and OpenAPI documents: no text in them can inject code into generated modules."""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clientgo.codegen.__main__ import main
from clientgo.codegen.names import misnamed
from clientgo.meta import ApiType
from clientgo.meta.yamlio import to_yaml
from tests.codegen.generating import printed_by
from tests.codegen.shapes import unexpected_nodes
from tests.definitions import custom_kind
from tests.models.budget import examples

HOSTILE_TEXTS = [
    '"""\nimport os\nos.abort()\n"""', '"', "'", "\\", '\\"', "'''", '"""', "x\\", "\n", "\r", "\x00", "\x1b[2J",
    "\u2028", "\u202e drow", "\u2066", "${name}", "$doc", "{0}", "%s", "# noqa", "class", "None", "__class__", "self",
    "a b", "1", "²", "ﬁ", "str", "msgspec", "no_items", "get", "metadata", "\\N{BULLET}", "\\u0022",
]  # fmt: skip
TEXTS = st.one_of(
    st.text(max_size=12),
    st.sampled_from([*HOSTILE_TEXTS, "x" * 300]),
    st.tuples(st.sampled_from(HOSTILE_TEXTS), st.sampled_from(HOSTILE_TEXTS)).map("".join),
)
IMPORTS = re.compile(r"^from .*", re.MULTILINE)
INVALID_IN_NAMES = re.compile(r"[\"\\\x00-\x1f\x7f]")
NAMES = TEXTS.filter(lambda text: not INVALID_IN_NAMES.search(text))
LEAVES = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["string", "integer", "number", "boolean", "object", "array"]) | TEXTS,
        "format": st.sampled_from(["date-time", "byte", "int-or-string"]) | TEXTS,
        "description": TEXTS,
        "enum": st.lists(
            TEXTS | st.integers() | st.none() | st.floats(allow_nan=False, allow_infinity=False), max_size=3
        ),
        "default": TEXTS,
        "nullable": st.booleans(),
        "x-kubernetes-preserve-unknown-fields": st.booleans(),
    },
)
SCHEMAS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.fixed_dictionaries(
            {"type": st.just("object"), "properties": st.dictionaries(NAMES, inner, max_size=4)},
            optional={"description": TEXTS, "required": st.lists(NAMES, max_size=2)},
        ),
        st.fixed_dictionaries({"type": st.just("array"), "items": inner}),
        st.fixed_dictionaries({"type": st.just("object"), "additionalProperties": inner | st.booleans()}),
    ),
    max_leaves=12,
)


def definition(schema: Any, *, names: Any = None, version: Any = None, **spec: Any) -> dict[str, Any]:
    """Return a CRD of one version with this schema; the others override parts of it."""
    crd = custom_kind("Thing", "g.example.com", "v1", schema=schema)
    crd["spec"]["names"] = {"kind": "Thing", "plural": "things", **(names or {})}
    crd["spec"]["versions"][0] |= version or {}
    crd["spec"] |= spec
    return crd


def generated(folder: Path, text: str, *, option: str = "--from-crd") -> int:
    """Run the command on a file with this text and return its exit code."""
    (folder / "given").write_text(text, encoding="utf-8")
    return main([option, str(folder / "given"), "--output-package", "made", "--root", str(folder)])


@given(schema=st.fixed_dictionaries({"type": st.just("object"), "properties": st.dictionaries(NAMES, SCHEMAS)}))
@settings(max_examples=examples(60), deadline=None, suppress_health_check=list(HealthCheck))
def test_any_schema_generates_only_nodes_of_the_templates(schema: Any) -> None:
    with tempfile.TemporaryDirectory() as temporary_directory:
        folder = Path(temporary_directory)
        assert generated(folder, to_yaml(definition(schema))) == 0
        for path in folder.rglob("*.py"):
            assert unexpected_nodes(path.read_text(encoding="utf-8")) == [], path


@pytest.mark.parametrize(("name", "declared"), [("ThingList", False), ("Things", True), ("", False)])
def test_unusual_kind_of_the_list_is_declared(tmp_path: Path, name: str, declared: bool) -> None:
    names = {"names": {"listKind": name}} if name else {}
    assert generated(tmp_path, to_yaml(definition({"type": "object"}, **names))) == 0
    text = (tmp_path / "made/types/g_v1.py").read_text(encoding="utf-8")
    assert ('list_kind="Things"' in text) is declared
    assert ("list_kind" in text) is declared


READ_BACK = """
import json, sys, msgspec
from made.types import g_v1
from made.applyconfigurations import for_kind
from made.clientset.fake import FakeClientset
FakeClientset().g_v1.things("ns")
spec = msgspec.structs.fields(g_v1.ThingSpec)
print(json.dumps(sorted(field.encode_name for field in spec)), sys.modules.get("antigravity"))
"""


@pytest.mark.e2e
def test_modules_generated_from_hostile_text_can_be_imported(tmp_path: Path) -> None:
    names = {name for name in HOSTILE_TEXTS if not INVALID_IN_NAMES.search(name)}
    code = '"""\nimport antigravity\n"""'
    pieces = {
        name: {
            "type": "object",
            "description": f"{code}{text}",
            "properties": {"a": {"type": "string", "enum": [code, text], "description": text}},
        }
        for name, text in zip(sorted(names), HOSTILE_TEXTS, strict=False)
    }
    spec = {"type": "object", "description": code, "properties": pieces}
    schema = {"type": "object", "description": code, "properties": {"spec": spec, "get": {"type": "string"}}}
    assert generated(tmp_path, to_yaml(definition(schema))) == 0
    names_json, _, imported = printed_by(tmp_path, READ_BACK).rpartition(" ")
    assert set(json.loads(names_json)) == names
    assert imported == "None\n"
    for arguments in (("check", "--select=F,PLE,W6"), ("format", "--check")):
        ruff = [sys.executable, "-m", "ruff", *arguments, "--isolated", "--line-length=120", str(tmp_path / "made")]
        checked = subprocess.run(ruff, capture_output=True, text=True, check=False, timeout=60)
        assert checked.returncode == 0, checked.stdout


STRING = {"type": "string"}


def obj(**properties: Any) -> dict[str, Any]:
    """Return the schema of an object."""
    return {"type": "object", "properties": properties}


def nested_arrays(levels: int) -> dict[str, Any]:
    """Return the schema of an object with nested arrays."""
    schema: dict[str, Any] = STRING
    for _ in range(levels):
        schema = {"type": "array", "items": schema}
    return obj(spec=schema)


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        pytest.param(definition(obj(), group="a'b.io"), "invalid group \"a'b.io\": expected a domain", id="group"),
        pytest.param(definition(obj(), names={"kind": "A(B)"}), "invalid kind 'A(B)': expected CamelCase", id="kind"),
        pytest.param(definition(obj(), names={"kind": "None"}), "invalid kind 'None': expected CamelCase",
                     id="keyword"),
        pytest.param(definition(obj(), names={"plural": "../x"}), "invalid plural '../x'", id="plural"),
        pytest.param(definition(obj(), names={"shortNames": ["a\n"]}), "invalid short name 'a\\n'", id="short name"),
        pytest.param(definition(obj(), version={"name": "v1/x"}), "invalid version 'v1/x'", id="version"),
        pytest.param(definition(obj(), version={"schema": None}), "version v1 has no schema", id="no schema"),
        pytest.param(definition(obj(), scope="Galaxy"), "Invalid enum value 'Galaxy' - at spec.scope", id="scope"),
        pytest.param(definition(obj(), versions=3), "Expected array, got int - at spec.versions", id="no versions"),
        pytest.param(definition([]), "version v1: Expected object, got array", id="a list as schema"),
        pytest.param(definition(obj(spec=obj(a=1))), "version v1.properties.spec.properties.a: Expected obj",
                     id="part"),
        pytest.param(definition(obj(a={"description": 1})), "properties.a: Expected str, got int - at desc", id="text"),
        pytest.param(definition(obj(a={"format": {}})), "properties.a: Expected str, got object - at form",
                     id="format"),
        pytest.param(definition(obj(**{'a"b': STRING})), "contains a quote, backslash or control character", id="name"),
        pytest.param(definition(nested_arrays(70)), "has more than 64 nested types", id="deep"),
        pytest.param(definition(obj(), version={"subresources": {"scale": 1}}), "- at spec.versions[0].sub",
                     id="scale"),
    ],
)  # fmt: skip
def test_invalid_crd_is_reported_in_one_line_and_nothing_is_written(
    tmp_path: Path, capsys: Any, document: Any, expected: str
) -> None:
    assert generated(tmp_path, json.dumps(document)) == 2
    error = capsys.readouterr().err
    assert expected in error
    assert error.startswith(f"{tmp_path / 'given'}: invalid definition: ")
    assert (error.count("\n"), [path.name for path in tmp_path.iterdir()]) == (1, ["given"])


def test_yaml_aliases_that_expand_too_far_are_rejected(tmp_path: Path, capsys: Any) -> None:
    lines = ["a: &a [x,x,x,x,x,x,x,x,x]"]
    lines += [f"{b}: &{b} [{','.join([f'*{a}'] * 9)}]" for a, b in zip("abcdefghi", "bcdefghij", strict=True)]
    assert generated(tmp_path, "\n".join(lines)) == 2
    assert "more than 1000000 values" in capsys.readouterr().err
    text = f"a: &a '{'x' * 30_000}'\nb: [{','.join(['*a'] * 1000)}]\n"
    crd = json.dumps(definition(obj(), names={"categories": ["c"]}))
    assert generated(tmp_path, f"{text}{crd[1:-1]}".replace('"apiVersion"', "apiVersion", 1)) == 2


GVK_EXTENSION = "x-kubernetes-group-version-kind"
GVK = {"group": "g.example.com", "version": "v1", "kind": "Thing"}


def document(schemas: dict[str, Any], plural: str = "things") -> str:
    """Return the OpenAPI document of the kind Thing with these schemas."""
    address = {"post": {GVK_EXTENSION: GVK}}
    top = {"type": "object", "properties": {"metadata": {}, "spec": {"$ref": "#/s/a0"}},
           GVK_EXTENSION: [GVK]}  # fmt: skip
    paths = {f"/apis/g.example.com/v1/{plural}": address}
    return json.dumps({"paths": paths, "components": {"schemas": {"Thing": top, **schemas}}})


def doubling_references(levels: int) -> dict[str, Any]:
    """Return schemas that each reference the next one twice."""
    refer = [{"$ref": f"#/s/a{number + 1}"} for number in range(levels)]
    return {f"a{number}": obj(x=each, y=each) for number, each in enumerate(refer)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            document(doubling_references(40)), "its references expand to more than 1000000 values", id="doubling"
        ),
        pytest.param(document({"a0": obj(x=STRING)}, plural="a b"), "invalid plural 'a b'", id="plural"),
        pytest.param(document({"a0": obj(x=[])}), "properties.spec.properties.x: Expected object", id="a list"),
        pytest.param(document({"Thing": {"properties": 1.5, GVK_EXTENSION: [GVK]}}), "no kind found", id="properties"),
        pytest.param("[" * 100_000, "", id="deep"),
        pytest.param('{"paths": 3}', "Expected object, got int - at paths", id="no paths"),
        pytest.param("9" * 5000, "invalid JSON: ", id="a number too long"),
    ],
)
def test_invalid_openapi_document_is_reported_in_one_line(
    tmp_path: Path, capsys: Any, text: str, expected: str
) -> None:
    assert generated(tmp_path, text, option="--from-openapi") == 2
    error = capsys.readouterr().err
    assert expected in error
    assert error.startswith(f"{tmp_path / 'given'}")
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--output-package", "a; import os"], "invalid module name 'a; import os'"),
        (["--output-package", "../a"], "invalid module name '../a'"),
        (["--input-module", "a b", "--output-package", "x"], "invalid module name 'a b'"),
        (["--output-package", "x", "--generators", "\n\x00"], "unknown generator '\\n\\x00'"),
        (["--crd-dir", "a\x00b"], "invalid path: contains NUL"),
    ],
)
def test_option_with_code_or_an_invalid_path_is_rejected(capsys: Any, arguments: list[str], expected: str) -> None:
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert (end.value.code, expected in capsys.readouterr().err) == (2, True)


@pytest.mark.e2e
def test_kind_that_collides_with_an_import_gets_another_class_name(tmp_path: Path) -> None:
    schema = obj(spec=obj(a=STRING))
    assert generated(tmp_path, json.dumps(definition(schema, names={"kind": "Lister", "plural": "class"}))) == 0
    use = 'from made.clientset.fake import FakeClientset as F; print(F().g_v1.class_("ns").kind.__api_type__.kind)'
    assert printed_by(tmp_path, use) == "Lister\n"


def test_class_without_a_description_is_named_without_an_article(tmp_path: Path) -> None:
    assert generated(tmp_path, json.dumps(definition(obj(spec=obj(a=STRING)), names={"kind": "IPAddress"}))) == 0
    assert '"""The kind IPAddress."""' in (tmp_path / "made/types/g_v1.py").read_text()


@pytest.mark.e2e
def test_kinds_named_as_the_types_of_fields_are_decoded(tmp_path: Path) -> None:
    stored = {"time": "2026-01-02T03:04:05Z", "names": ["a"], "labels": {"a": "b"}, "any": {"a": 1}}
    schema = obj(spec=obj(
        time={"type": "string", "format": "date-time"}, names={"type": "array", "items": STRING},
        labels={"type": "object", "additionalProperties": STRING}, any={"x-kubernetes-preserve-unknown-fields": True},
    ))  # fmt: skip
    assert generated(tmp_path, json.dumps(definition(schema))) == 0
    imported = re.findall(r"[A-Z]\w*[a-z]\b", "\n".join(IMPORTS.findall((tmp_path / "made/types/g_v1.py").read_text())))
    documents = [definition(schema, names={"kind": kind, "plural": kind.lower()}) for kind in imported]
    assert len(imported) > 4
    assert generated(tmp_path, "\n---\n".join(map(json.dumps, documents))) == 0
    use = f"""
        from clientgo.meta import from_dict, to_dict
        from made.clientset.scheme import KINDS
        stored = {stored}
        print(*[kind.__name__ for kind in KINDS if to_dict(from_dict(kind, {{"spec": stored}}))["spec"] != stored])"""
    assert printed_by(tmp_path, dedent(use)) == "\n"


@pytest.mark.e2e
@pytest.mark.parametrize("group", ["3d.example.com", "import.example.com", "factory.example.com", "a-b.c"])
def test_modules_of_any_group_name_can_be_imported(tmp_path: Path, group: str) -> None:
    version = {"name": "v1-class"}
    assert generated(tmp_path, json.dumps(definition(obj(), group=group, version=version))) == 0
    use = "import made.informers, made.clientset.fake as f; made.informers.SharedInformerFactory(f.FakeClientset())"
    assert printed_by(tmp_path, use) == ""


def test_kind_in_lower_case_is_accepted_in_a_definition_of_others() -> None:
    api = ApiType(group="acid.zalan.do", version="v1", kind="postgresql", plural="postgresqls", singular="postgresql")
    assert list(misnamed(api, any_case=True)) == []
    assert list(misnamed(api)) == ["invalid kind 'postgresql': expected CamelCase, with letters and digits"]
