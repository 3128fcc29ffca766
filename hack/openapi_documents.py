"""Copy of the OpenAPI documents of a real API server, which the bundled one serves for the built-in kinds.

`python -m hack.openapi_documents` reads them from the server of kubectl's current context and writes
`openapi_documents.xz` (a line per document: its path, a tab, JSON) and `openapi_hashes.txt`.
"""

import json
import lzma
import subprocess  # nosec B404  # kubectl
from pathlib import Path

from clientgo.apiserver.registry.builtin import builtin_resources

FOLDER = Path(__file__).resolve().parent.parent / "clientgo" / "apiserver" / "registry"


def _read(path: str) -> bytes:
    return subprocess.run(["kubectl", "get", "--raw", path], check=True, capture_output=True).stdout  # nosec


def main() -> None:
    """Write both files."""
    hashes, lines = [], []
    groups = {resource.group for resource in builtin_resources()}
    for path, entry in json.loads(_read("/openapi/v3"))["paths"].items():
        if path.startswith("apis/") and path.split("/")[1] not in groups:
            continue
        url = entry["serverRelativeURL"]
        hashes.append(f"{path} {url.partition('hash=')[2]}\n")
        lines.append(f"{path}\t{json.dumps(json.loads(_read(url)), separators=(',', ':'), ensure_ascii=False)}\n")
    head = "# Hashes of the documents in openapi_documents.xz; written by hack/openapi_documents.py.\n"
    (FOLDER / "openapi_hashes.txt").write_text(head + "".join(hashes), encoding="utf-8")
    packed = lzma.compress("".join(lines).encode(), preset=9 | lzma.PRESET_EXTREME)
    (FOLDER / "openapi_documents.xz").write_bytes(packed)


if __name__ == "__main__":
    main()
