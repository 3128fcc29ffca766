"""Data of the bundled API server that is a copy of what a real one serves.

`python -m hack.server_data` reads it from the server of kubectl's current context and writes into `clientgo_apiserver`:

- `registry/openapi_documents.xz` (a line per document: its path, a tab, JSON) and `registry/openapi_hashes.txt`
- `bootstrap.jsonl`: the objects of the first start, one per line, with `NOW` and `PORT` for those of the start
- `printers/descriptions.txt`: the descriptions of the columns of tables
"""

import json
import lzma
import re
import subprocess  # nosec B404  # kubectl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import urllib3

from clientgo_apiserver.registry.builtin import builtin_resources
from clientgo_apiserver.registry.openapi import path_of

FOLDER = Path(__file__).resolve().parent.parent / "apiserver" / "clientgo_apiserver"
# Kinds, and the label of the objects that the server creates.
_SOURCES = (
    ("services,servicecidrs,priorityclasses,flowschemas,prioritylevelconfigurations", ""),
    ("apiservices", "kube-aggregator.kubernetes.io/automanaged=onstart"),
    ("clusterroles,clusterrolebindings,roles,rolebindings", "kubernetes.io/bootstrapping=rbac-defaults"),
)
_OWN = ("uid", "resourceVersion", "creationTimestamp")
_NAMES = {"Service": "kubernetes", "ServiceCIDR": "kubernetes"}
_TIME = re.compile(r'"\d{4}-\d\d-\d\dT[\d:]+Z"')
_PORT = re.compile(r'"targetPort":\d+')
_FIXED = ("Name", "Age")


def _kubectl(*arguments: str) -> Any:
    output = subprocess.run(["kubectl", *arguments], check=True, capture_output=True).stdout  # nosec
    return json.loads(output)


def _write_documents() -> None:
    hashes, lines = [], []
    groups = {resource.group for resource in builtin_resources()}
    for path, entry in _kubectl("get", "--raw", "/openapi/v3")["paths"].items():
        if path.startswith("apis/") and path.split("/")[1] not in groups:
            continue
        url = entry["serverRelativeURL"]
        hashes.append(f"{path} {url.partition('hash=')[2]}\n")
        document = _kubectl("get", "--raw", url)
        lines.append(f"{path}\t{json.dumps(document, separators=(',', ':'), ensure_ascii=False)}\n")
    head = "# Hashes of the documents in openapi_documents.xz; written by hack/server_data.py.\n"
    (FOLDER / "registry" / "openapi_hashes.txt").write_text(head + "".join(hashes), encoding="utf-8")
    packed = lzma.compress("".join(lines).encode(), preset=9 | lzma.PRESET_EXTREME)
    (FOLDER / "registry" / "openapi_documents.xz").write_bytes(packed)


def _write_objects() -> None:
    lines = []
    for kinds, selector in _SOURCES:
        for obj in _kubectl("get", kinds, "-A", "-o", "json", f"--selector={selector}")["items"]:
            meta = obj["metadata"]
            if meta["name"] == _NAMES.get(obj["kind"], meta["name"]):
                kept = {name: value for name, value in meta.items() if name not in _OWN}
                text = json.dumps({**obj, "metadata": kept}, separators=(",", ":"))
                lines.append(_PORT.sub('"targetPort":"PORT"', _TIME.sub('"NOW"', text)) + "\n")
    (FOLDER / "bootstrap.jsonl").write_text("".join(lines), encoding="utf-8")


def _write_descriptions() -> None:
    lines = ["# Descriptions of the columns of tables; written by hack/server_data.py.\n"]
    with subprocess.Popen(["kubectl", "proxy", "--port=0"], stdout=subprocess.PIPE, text=True) as proxy:  # nosec
        assert proxy.stdout is not None, "piped"
        address = proxy.stdout.readline().split()[-1]
        for resource in builtin_resources():
            if "list" in resource.verbs:
                lines.append(f"\n[{resource.group}/{resource.kind}]\n")
                lines += _descriptions(
                    f"http://{address}/{path_of(resource.group, resource.version)}/{resource.plural}"
                )
        proxy.terminate()
    (FOLDER / "printers" / "descriptions.txt").write_text("".join(lines), encoding="utf-8")


def _descriptions(url: str) -> Iterator[str]:
    accept = {"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}
    answer = urllib3.request("GET", f"{url}?limit=1", headers=accept)
    for column in answer.json()["columnDefinitions"] or ():
        if column["name"] not in _FIXED:
            yield f"{column['name']}\t{json.dumps(column['description'])}\n"


def main() -> None:
    """Write all files."""
    _write_documents()
    _write_objects()
    _write_descriptions()


if __name__ == "__main__":
    main()
