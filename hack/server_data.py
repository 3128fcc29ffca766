"""Data of the bundled API server that is read from a real one: facts, without its texts.

`python -m hack.server_data` reads from the server of kubectl's current context and writes into `clientgo_apiserver`:

- `registry/schemas.txt`: the types of the API, from the OpenAPI documents, without descriptions
- `bootstrap.yaml` and `roles.txt`: the objects of the first start, with `NOW` and `PORT` for those of the start
"""

import json
import re
import subprocess  # nosec B404  # kubectl
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from clientgo.meta.yamlio import to_yaml
from clientgo_apiserver.registry.builtin import builtin_resources

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

_REFERENCE = "#/components/schemas/"
_KINDS = "x-kubernetes-group-version-kind"
_OPTIONS = {
    "x-kubernetes-list-type": "list",
    "x-kubernetes-list-map-keys": "keys",
    "x-kubernetes-patch-strategy": "patch",
    "x-kubernetes-patch-merge-key": "merge",
    "x-kubernetes-map-type": "map",
}
_HEAD = """\
# Types of Kubernetes' API, as in its OpenAPI documents, without descriptions; written by hack/server_data.py.
# A section is a package, with the group and version of its kinds. A line is a type, and those below it are its fields:
# name (`!` if required), type (`[]` lists, `{}` maps; the values of an enum; `=` and the default), and the list type,
# its keys, patch strategy, merge key and map type. Types of other packages have the last two words of the package's
# name. `kind` marks kinds, which have apiVersion and kind as well, and `kinds` those that exist in every group.
"""

Json = Mapping[str, Any]


def _kubectl(*arguments: str) -> Any:
    output = subprocess.run(["kubectl", *arguments], check=True, capture_output=True).stdout  # nosec
    return json.loads(output)


def _write_schemas() -> None:
    groups = {resource.group for resource in builtin_resources()}
    schemas: dict[str, Json] = {}
    for path, entry in _kubectl("get", "--raw", "/openapi/v3")["paths"].items():
        if not path.startswith("apis/") or path.split("/")[1] in groups:
            document = _kubectl("get", "--raw", entry["serverRelativeURL"])
            schemas |= document.get("components", {}).get("schemas", {})
    (FOLDER / "registry" / "schemas.txt").write_text(_HEAD + "".join(schema_lines(schemas)), encoding="utf-8")


def schema_lines(schemas: Mapping[str, Json]) -> Iterator[str]:
    """Yield the lines of `schemas.txt` for these schemas."""
    for package in sorted({name.rpartition(".")[0] for name in schemas}):
        members = {name: schema for name, schema in schemas.items() if name.rpartition(".")[0] == package}
        kinds = [schema[_KINDS][0] for schema in members.values() if _KINDS in schema]
        kind = next(iter(kinds), None)
        group_version = "" if kind is None else f" {kind['group']}/{kind['version']}".replace(" /", " ")
        yield f"\n[{package}{group_version}]\n"
        for name in sorted(members):
            yield from _type_lines(name, members[name])


def _type_lines(name: str, schema: Json) -> Iterator[str]:
    package, _, short = name.rpartition(".")
    kinds = schema.get(_KINDS, ())
    text = "" if "properties" in schema else f" {_type(schema, package)}"
    mark = "" if not kinds else " kind" if len(kinds) == 1 else " kinds"
    unions = "".join(
        f" union={union.get('discriminator', '')}:{','.join(union['fields-to-discriminateBy'])}"
        for union in schema.get("x-kubernetes-unions", ())
    )
    yield f"{short}{text}{mark}{_options(schema)}{unions}\n"
    required = schema.get("required", ())
    for field, members in schema.get("properties", {}).items():
        if mark != " kind" or field not in {"apiVersion", "kind"}:
            sign = "!" if field in required else ""
            yield f"  {field}{sign} {_type(members, package)}{_options(members)}\n"


def _type(schema: Json, package: str) -> str:
    references: Iterable[Json] = [schema, *schema.get("allOf", ())]
    reference = next((member["$ref"] for member in references if "$ref" in member), "")
    if reference:
        home, _, short = reference.removeprefix(_REFERENCE).rpartition(".")
        text = short if home == package else f"{'.'.join(home.split('.')[-2:])}.{short}"
    elif schema.get("type") == "array":
        return f"[]{_type(schema['items'], package)}"
    elif "additionalProperties" in schema:
        return f"{{}}{_type(schema['additionalProperties'], package)}"
    elif "oneOf" in schema:
        text = "|".join(member["type"] for member in schema["oneOf"])
        text += f":{schema['format']}" if "format" in schema else ""
    else:
        text = schema.get("format") or schema.get("type") or "any"
    text += f"({'|'.join(schema['enum'])})" if "enum" in schema else ""
    return text + (f"={json.dumps(schema['default'], separators=(',', ':'))}" if "default" in schema else "")


def _options(schema: Json) -> str:
    values = ((option, schema[key]) for key, option in _OPTIONS.items() if key in schema)
    return "".join(f" {option}={','.join(v) if isinstance(v, list) else v}" for option, v in values)


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
    """Write all files."""
    _write_schemas()
    _write_objects()


if __name__ == "__main__":
    main()
