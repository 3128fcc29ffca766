"""Reader of the bundled server's audit log: who wrote what, in the order of effect."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Write:
    """One write that changed something; `at` is the server's time, as text that sorts."""

    at: str
    user: str
    verb: str
    resource: str
    subresource: str
    namespace: str
    name: str

    @property
    def foo(self) -> str:
        """Foo of this write, whose Deployment has the same name; "" for other writes."""
        return (
            self.name
            if self.resource == "deployments" or (self.resource, self.subresource) == ("foos", "status")
            else ""
        )


def events(trail: Path) -> Iterator[dict[str, Any]]:
    """Return every event so far, in order; an incomplete last line is left for later."""
    complete, _, _ = trail.read_text(encoding="utf-8").rpartition("\n")
    return (json.loads(line) for line in complete.split("\n") if line)


def writes(trail: Path) -> Iterator[Write]:
    """Return every acknowledged write, in order."""
    for event in events(trail):
        if 200 <= event["responseStatus"]["code"] < 300:
            what = event["objectRef"]
            yield Write(
                event["stageTimestamp"], event["user"]["username"], event["verb"], what["resource"],
                what.get("subresource", ""), what.get("namespace", ""), what.get("name", ""),
            )  # fmt: skip
