"""Copy of the objects that a real API server creates at its first start, which the bundled one creates, too.

`python -m hack.cluster_objects` reads them from the server of kubectl's current context and writes `bootstrap.jsonl`,
an object per line, in which `NOW` stands for the time of the start.
"""

import json
import re
import subprocess  # nosec B404  # kubectl
from pathlib import Path
from typing import Any

FILE = Path(__file__).resolve().parent.parent / "clientgo" / "apiserver" / "bootstrap.jsonl"
_ROLES = "clusterroles,clusterrolebindings,roles,rolebindings"
# Kinds, and the label of the objects that the server creates.
_SOURCES = (
    ("services,servicecidrs,priorityclasses,flowschemas,prioritylevelconfigurations", ""),
    ("apiservices", "kube-aggregator.kubernetes.io/automanaged=onstart"),
    (_ROLES, "kubernetes.io/bootstrapping=rbac-defaults"),
)
_OWN = ("uid", "resourceVersion", "creationTimestamp")
_NAMES = {"Service": "kubernetes", "ServiceCIDR": "kubernetes"}
_TIME = re.compile(r'"\d{4}-\d\d-\d\dT[\d:]+Z"')


def _read(kinds: str, selector: str) -> list[dict[str, Any]]:
    command = ["kubectl", "get", kinds, "-A", "-o", "json", *(["-l", selector] if selector else [])]
    items: list[dict[str, Any]] = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["items"]
    return items  # nosec


def main() -> None:
    """Write the file."""
    lines = []
    for kinds, selector in _SOURCES:
        for obj in _read(kinds, selector):
            meta = obj["metadata"]
            if meta["name"] != _NAMES.get(obj["kind"], meta["name"]):
                continue
            kept = {name: value for name, value in meta.items() if name not in _OWN}
            lines.append(_TIME.sub('"NOW"', json.dumps({**obj, "metadata": kept}, separators=(",", ":"))) + "\n")
    FILE.write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
