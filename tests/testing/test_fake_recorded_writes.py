"""Random writes whose results on a real API server were recorded: the fakes merge objects of built-in kinds alike.

Each write starts from what the real server had stored. Fakes set no defaults and validate no values, so only writes
that the real server accepted are played, and its objects may have further fields where a write added something.
"""

import json
from collections.abc import Iterator
from itertools import islice, pairwise
from typing import Any

import pytest

from clientgo.kubernetes.scheme import SCHEME
from clientgo.meta import api_of
from clientgo.meta.quantities import canonical
from clientgo.rest.request import Request
from clientgo.testing.fake import FakeRequester
from tests.differential.kinds import KINDS, NAMESPACE
from tests.differential.recording import RECORDED, read
from tests.differential.sequences import APPLY, JSON_PATCH, MERGE, STRATEGIC, Write

PATCHES = (APPLY, MERGE, STRATEGIC, JSON_PATCH)
MAPS = ("labels", "annotations", "data", "binaryData", "nodeSelector", "limits", "requests", "selector", "matchLabels")
DEPENDENT = {
    *("clusterIPs", "ipFamilies", "sessionAffinityConfig", "externalTrafficPolicy"),
    *("tolerations", "serviceAccount"),
}
"""Fields that a server derives from others, or adds to."""

QUANTITIES = (".limits.", ".requests.", ".sizeLimit")
ZERO: tuple[Any, ...] = ("", 0, False, None, {}, [])
"""Values that Go's types do not distinguish from absent ones."""

BODY, METADATA = ("spec", "data", "binaryData", "status"), ("labels", "annotations", "finalizers", "ownerReferences")
PARTS = 5
Stored = dict[str, Any]


def accepted_patches() -> Iterator[tuple[int, str, Write, Stored, Stored]]:
    """Yield each patch of a built-in kind that a real server accepted, and the object before and after it."""
    for sequence in read(RECORDED):
        steps = zip(sequence.writes, sequence.outcomes, strict=True)
        for (_, before), (write, after) in pairwise(steps):
            played = KINDS[sequence.kind].typed and write["verb"] in PATCHES and "subresource" not in write
            if write["verb"] == JSON_PATCH:  # a struct copied elsewhere loses its fields in Go's types
                played = played and all(operation["op"] not in ("copy", "move") for operation in write["body"])
            if played and before.stored and after.code == 200:
                yield sequence.seed, sequence.kind, write, before.stored, after.stored


def patched(kind: str, write: Write, before: Stored) -> Stored:
    """Return what a fake with that object makes of the patch."""
    fields = {field: value for field, value in before.items() if field != "written"}
    fake = FakeRequester(scheme=SCHEME, versioned=True, lifecycle=True)
    fake.tracker.add({**fields, "metadata": {**before["metadata"], "name": "a", "resourceVersion": "1"}})
    body = write["body"]
    if write["verb"] == APPLY:
        identity = {"apiVersion": before["apiVersion"], "kind": kind}
        body = {**identity, **body, "metadata": {**(body.get("metadata") or {}), "name": "a"}}
    request = Request(
        verb="apply" if write["verb"] == APPLY else "patch",
        resource=next(api_of(cls).gvr for gvk in SCHEME.kinds() if gvk.kind == kind and (cls := SCHEME.class_of(gvk))),
        namespace=NAMESPACE,
        name="a",
        query={"fieldManager": write["manager"], **({"force": "true"} if write.get("force") else {})},
        body=json.dumps(body).encode(),
        content_type=write["verb"],
    )
    result: Stored = json.loads(fake.do(request))
    return result


def differences(real: Any, fake: Any, before: Any, path: str = "") -> Iterator[str]:
    """Yield where the fake has more than the real server, or less of what the object had before."""
    if isinstance(real, dict) and isinstance(fake, dict | None):
        yield from member_differences(real, fake or {}, before if isinstance(before, dict) else {}, path)
    elif isinstance(real, list) and isinstance(fake, list):
        if len(real) != len(fake):
            yield f"{path}: {len(real)} items, the fake has {len(fake)}"
        for index, (item, ours) in enumerate(zip(real, fake, strict=False)):
            yield from differences(item, ours, None, f"{path}[{index}]")
    elif real != fake and not (real in ZERO and fake in ZERO) and not is_same_quantity(path, real, fake):
        yield f"{path}: {real!r}, the fake has {fake!r}"


def member_differences(real: Stored, fake: Stored, before: Stored, path: str) -> Iterator[str]:
    for name in fake.keys() - real.keys() - DEPENDENT:
        if fake[name] not in ZERO:
            yield f"{path}.{name}: only the fake has {fake[name]!r}"
    for name in (real.keys() & before.keys()) - fake.keys() - DEPENDENT:
        # A server sets the default of a field again; entries of maps and lists have none.
        if path.rpartition(".")[2] in MAPS or isinstance(real[name], list):
            yield f"{path}.{name}: the fake lacks {real[name]!r}"
    for name in (real.keys() & fake.keys()) - DEPENDENT:
        yield from differences(real[name], fake[name], before.get(name), f"{path}.{name}")


def is_same_quantity(path: str, real: Any, fake: Any) -> bool:
    """Report whether both are the same quantity in two forms."""
    return any(part in path for part in QUANTITIES) and canonical(str(real)) == canonical(str(fake))


def test_patches_of_every_built_in_kind_are_recorded() -> None:
    kinds = [kind for _, kind, *_ in accepted_patches()]
    assert set(kinds) == {kind.name for kind in KINDS.values() if kind.typed}
    assert len(kinds) > 1500


@pytest.mark.parametrize("part", range(PARTS))
def test_fake_makes_of_an_object_what_a_real_server_makes_of_it(part: int) -> None:
    for seed, kind, write, before, after in islice(accepted_patches(), part, None, PARTS):
        result = patched(kind, write, before)
        pairs = [(after, result, before), (after["metadata"], result["metadata"], before["metadata"])]
        found = [
            line
            for (theirs, mine, earlier), fields in zip(pairs, (BODY, METADATA), strict=True)
            for field in fields
            for line in differences(theirs.get(field) or {}, mine.get(field) or {}, earlier.get(field), field)
        ]
        assert found == [], f"sequence {seed}: {kind} {json.dumps(write)}"
