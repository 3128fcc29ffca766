"""Data of the bundled API server that is read from a real one: facts, without its texts.

`python -m hack.server_data` reads from the server of kubectl's current context. It writes the objects of the first
start into `bootstrap.yaml` and `roles.txt`, with `NOW` and `PORT` for those of the start. It prints where the table of
Go types differs from the server's OpenAPI documents, as rows to remove (`-`) and to add (`+`): what the documents lack,
such as numbers of protobuf fields and names in Go, is added by hand.
"""

import json
import re
import subprocess  # nosec B404  # kubectl
import sys
from collections.abc import Iterable, Iterator, Mapping
from difflib import unified_diff
from pathlib import Path
from typing import Any

from clientgo.meta.schema.gotypes import META
from clientgo.meta.yamlio import to_yaml
from clientgo_apiserver.gotypes.table import FILE
from clientgo_apiserver.registry.builtin import builtin_resources
from clientgo_apiserver.registry.schemas import built_in_schemas

FOLDER = Path(__file__).resolve().parent.parent / "apiserver" / "clientgo_apiserver"
# Kinds, and the label of the objects that the server creates.
_SOURCES = (
    ("services,servicecidrs,priorityclasses,flowschemas,prioritylevelconfigurations", ""),
    ("apiservices", "kube-aggregator.kubernetes.io/automanaged=onstart"),
    ("clusterroles,clusterrolebindings,roles,rolebindings", "kubernetes.io/bootstrapping=rbac-defaults"),
)
_OWN = ("uid", "resourceVersion", "creationTimestamp")
_NAMES = {"Service": "kubernetes", "ServiceCIDR": "kubernetes"}
_RBAC = ("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")
_TIME = re.compile(r"['\"]\d{4}-\d\d-\d\dT[\d:]+Z['\"]")
_PORT = re.compile(r"targetPort: \d+")
_ROLES_HEAD = """\
# Roles and bindings of the first start; written by hack/server_data.py. A section is a kind, with its namespace.
# A role is followed by its rules: verbs, API groups, resources and their names, or verbs and URLs. `>edit` marks roles
# that are aggregated to the role edit, and `<edit` the role that is made of those marked so.
# A binding has its name, the kind of its role and, if it differs, the role's name, and its subjects.
"""

_KINDS = "x-kubernetes-group-version-kind"
_EXTENSION = "x-kubernetes-"
_OPTIONS = (
    ("list", f"{_EXTENSION}list-type", f"{_EXTENSION}list-map-keys"),
    ("patch", f"{_EXTENSION}patch-strategy", f"{_EXTENSION}patch-merge-key"),
    ("map", f"{_EXTENSION}map-type", ""),
)
_GO_TYPES = {
    "string": "string",
    "boolean": "bool",
    "byte": "[]byte",
    "double": "float64",
    "int32": "int32",
    "int64": "int64",
}

Json = Mapping[str, Any]
_ZEROS: Json = {"string": "", "bool": False, "float64": 0, "int32": 0, "int64": 0}


def _kubectl(*arguments: str) -> Any:
    output = subprocess.run(["kubectl", *arguments], check=True, capture_output=True).stdout  # nosec
    return json.loads(output)


def served_schemas() -> dict[str, Json]:
    """Return the schemas of the server's built-in groups, by definition."""
    groups = {resource.group for resource in builtin_resources()}
    served: dict[str, Json] = {}
    for path, entry in _kubectl("get", "--raw", "/openapi/v3")["paths"].items():
        if not path.startswith("apis/") or path.split("/")[1] in groups:
            document = _kubectl("get", "--raw", entry["serverRelativeURL"])
            served |= document.get("components", {}).get("schemas", {})
    return served


def _print_types() -> None:
    """Print the differences between the table of types and the server's documents."""
    ours, theirs = ([*type_lines(schemas)] for schemas in (built_in_schemas(), served_schemas()))
    sys.stdout.writelines(f"{line}\n" for line in unified_diff(ours, theirs, str(FILE), "server", lineterm=""))


def type_lines(schemas: Mapping[str, Json]) -> Iterator[str]:
    """Yield the lines of a table with the types of these schemas, as far as schemas tell."""
    for package in sorted({name.rpartition(".")[0] for name in schemas}):
        members = {name: schema for name, schema in schemas.items() if name.rpartition(".")[0] == package}
        kinds = [schema[_KINDS][0] for schema in members.values() if _KINDS in schema]
        kind = next(iter(kinds), {"group": "", "version": package})
        api_version = META if package.endswith(".meta.v1") else f"{kind['group']}/{kind['version']}".strip("/")
        yield f"[{api_version} {package}]"
        for name in sorted(members):
            yield from _type_lines(name, members[name])


def _type_lines(name: str, schema: Json) -> Iterator[str]:
    kinds = schema.get(_KINDS, ())
    marks = ["kind" if len(kinds) == 1 else "kinds"] if kinds else []
    marks += [] if schema.get("type") == "object" and "properties" in schema else [f"schema={_json(schema)}"]
    marks += ["atomic"] if schema.get("x-kubernetes-map-type") == "atomic" else []
    for union in schema.get("x-kubernetes-unions", ()):
        marks.append(f"union={union.get('discriminator', '')}:{','.join(union['fields-to-discriminateBy'])}")
    yield " ".join([name.rpartition(".")[2], *marks])
    required = schema.get("required", ())
    for field, members in schema.get("properties", {}).items():
        if "kind" not in marks or field not in ("apiVersion", "kind"):
            yield _row(field, members, field in required)


def _json(schema: Json) -> str:
    names = "|".join(member["type"] for member in schema["oneOf"]) if "oneOf" in schema else schema.get("type", "any")
    return names + (f":{schema['format']}" if "format" in schema else "")


def _row(name: str, schema: Json, required: bool) -> str:
    text, default = _type(schema), schema.get("default")
    words = []
    if text in _ZEROS and required and default is None:
        words.append("omitempty")
    elif default not in (None, {}) and (not required or default != _ZEROS.get(text)):
        words.append(f"default={json.dumps(default, separators=(',', ':'))}")
    return " ".join(["  -", f"{name}{'!' if required else ''}", text, *words, *_options(schema)])


def _type(schema: Json) -> str:
    references: Iterable[Json] = [schema, *schema.get("allOf", ())]
    reference = next((member["$ref"] for member in references if "$ref" in member), "")
    if reference:
        return f"{'' if schema.get('default') == {} else '*'}{reference.rpartition('.')[2]}"
    if schema.get("type") == "array":
        return f"[]{_type(schema['items']).removeprefix('*')}"
    if "additionalProperties" in schema:
        return f"map[string]{_type(schema['additionalProperties']).removeprefix('*')}"
    text = _GO_TYPES[schema.get("format") or schema["type"]]
    return text + (f"({'|'.join(schema['enum'])})" if "enum" in schema else "")


def _options(schema: Json) -> Iterator[str]:
    for name, extension, keys in _OPTIONS:
        if extension in schema:
            key = schema.get(keys, ())
            key = key if isinstance(key, str) else ",".join(key)
            yield f"{name}={schema[extension]}{f':{key}' if key else ''}"


def _write_objects() -> None:
    roles: dict[str, list[str]] = {}
    documents = []
    for kinds, selector in _SOURCES:
        for obj in _kubectl("get", kinds, "-A", "-o", "json", f"--selector={selector}")["items"]:
            meta = obj["metadata"]
            if obj["kind"] in _RBAC:
                section = "/".join(filter(None, (obj["kind"], meta.get("namespace", ""))))
                roles.setdefault(section, []).extend(role_lines(obj))
            elif meta["name"] == _NAMES.get(obj["kind"], meta["name"]):
                lasting = {name: value for name, value in meta.items() if name not in _OWN}
                text = to_yaml({**obj, "metadata": lasting})
                documents.append(_PORT.sub("targetPort: PORT", _TIME.sub("NOW", text)))
    head = "# Objects of the first start; written by hack/server_data.py.\n"
    (FOLDER / "bootstrap.yaml").write_text(head + "---\n".join(documents), encoding="utf-8")
    text = "".join(f"\n[{section}]\n{''.join(lines)}" for section, lines in roles.items())
    (FOLDER / "roles.txt").write_text(_ROLES_HEAD + text, encoding="utf-8")


def role_lines(obj: Json) -> Iterator[str]:
    """Yield the lines of `roles.txt` for a role or a binding."""
    name = obj["metadata"]["name"]
    if "roleRef" in obj:
        role, subjects = obj["roleRef"], obj.get("subjects", ())
        role_name = "" if role["name"] == name else f"={role['name']}"
        yield " ".join([name, role["kind"] + role_name, *map(_subject, subjects)]) + "\n"
        return
    labels = (label.partition("aggregate-to-")[2] for label in obj["metadata"]["labels"])
    selectors = obj.get("aggregationRule", {}).get("clusterRoleSelectors", ())
    sources = (label.partition("aggregate-to-")[2] for item in selectors for label in item["matchLabels"])
    yield " ".join([name, *(f">{label}" for label in labels if label), *(f"<{label}" for label in sources)]) + "\n"
    for rule in () if selectors else obj["rules"] or ():
        groups = [group or "core" for group in rule.get("apiGroups", ())]
        columns = (rule["verbs"], rule.get("nonResourceURLs", groups), rule.get("resources"), rule.get("resourceNames"))
        yield f"  {' '.join(','.join(column) for column in columns if column)}\n"


def _subject(subject: Json) -> str:
    home = f"{subject['namespace']}/" if "namespace" in subject else ""
    return f"{subject['kind']}={home}{subject['name']}"


def main() -> None:
    """Write the files, and print the differences of the types."""
    _write_objects()
    _print_types()


if __name__ == "__main__":
    main()
