"""Completeness of the audit log: every committed version once, in order, and nothing else."""

import json
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from apiserver.tests.inprocess import CONFIG_MAPS, DEPLOYMENTS, MERGE, NAMESPACES, answer_of, deployment
from clientgo.testing.clock import FakeClock
from clientgo_apiserver.api.status import internal_error
from clientgo_apiserver.audit import REVISION
from clientgo_apiserver.cluster.internal import Internal
from clientgo_apiserver.cluster.namespaces import NamespaceContents
from clientgo_apiserver.handlers.dispatch import Api
from clientgo_apiserver.server import build
from clientgo_apiserver.serving.scheduling import ManualScheduler
from clientgo_apiserver.state import ServerOptions
from tests.models.budget import examples

QUOTAS = "/api/v1/namespaces/default/resourcequotas"


class Journal:
    """Journal of committed writes; a `broken` one discards what was recorded since."""

    def __init__(self) -> None:
        self.broken = False
        self.last = 1
        self._recorded = 1

    def load(self) -> tuple[int, list[Any]]:
        return 1, []

    def record(self, revision: int, *_: object) -> None:
        self._recorded = revision

    def commit(self) -> None:
        if self.broken:
            raise internal_error("the disk refuses")
        self.last = self._recorded


def named(name: str, **spec: Any) -> Any:
    return {"metadata": {"name": name}, **({"spec": spec} if spec else {})}


STEPS: dict[str, tuple[str, str, Any]] = {
    "create": ("POST", CONFIG_MAPS, named("a")),
    "generate": ("POST", CONFIG_MAPS, {"metadata": {"generateName": "g-"}}),
    "try": ("POST", f"{CONFIG_MAPS}?dryRun=All", named("b")),
    "patch": ("PATCH", f"{CONFIG_MAPS}/a", {"data": {"k": "v"}}),
    "delete": ("DELETE", f"{CONFIG_MAPS}/a", None),
    "clear": ("DELETE", CONFIG_MAPS, None),
    "deploy": ("POST", DEPLOYMENTS, deployment("d", 2)),
    "scale": ("PATCH", f"{DEPLOYMENTS}/d", {"spec": {"replicas": 3}}),
    "undeploy": ("DELETE", f"{DEPLOYMENTS}/d", None),
    "namespace": ("POST", NAMESPACES, named("n")),
    "fill": ("POST", f"{NAMESPACES}/n/configmaps", named("x")),
    "empty": ("DELETE", f"{NAMESPACES}/n", None),
    "limit": ("POST", QUOTAS, named("q", hard={"configmaps": "2"})),
}


def send(api: Api, step: str) -> None:
    """Send the request of a step and wait for the response."""
    method, url, body = STEPS[step]
    path, _, query = url.partition("?")
    headers = {"content-type": MERGE if method == "PATCH" else "application/json"}
    data = b"" if body is None else json.dumps(body).encode()
    answer_of(api, api.handle(method, path, query, headers, data))


def assert_controllers_are_up_to_date(api: Api) -> None:
    """Check that observers of writes have handled every stored object, even if their first attempt failed."""
    store = api.state.store
    for item in store.list(("", "namespaces")):
        assert store.get(("", "serviceaccounts"), item["metadata"]["name"], "default") is not None
    assert not any("deletionTimestamp" in item["metadata"] for item in store.list(("", "namespaces")))
    for item in store.list(("", "resourcequotas")):
        assert item["status"]["used"] == {"configmaps": str(len(store.list(("", "configmaps"), "default")))}


@settings(max_examples=examples(100))
@given(
    st.lists(
        st.sampled_from([*STEPS, "turn", "turn", "break", "break", "mend", "full", "space"]), min_size=15, max_size=40
    )
)
@example(["namespace", "fill", "empty", "full", "turn"])  # the first attempt to empty the namespace fails
def test_every_committed_version_is_audited_once_in_order(steps: list[str]) -> None:
    events: list[dict[str, Any]] = []
    clock, journal = FakeClock(), Journal()
    scheduler = ManualScheduler(clock)
    options = ServerOptions(audit=events.append, simulate=False)
    api = build(scheduler, options, clock=clock, journal=journal, commit_together=True)
    NamespaceContents(Internal(api)).start()
    scheduler.run()
    events.clear()
    first = api.state.store.revision + 1
    for step in steps:
        if step in STEPS:
            send(api, step)
        elif step == "turn":
            clock.step(1)
            scheduler.run()
        elif step in ("break", "mend"):
            scheduler.run()  # what was answered so far was kept
            journal.broken = step == "break"
        else:
            api.state.store.full = step == "full"
    api.state.store.full = journal.broken = False
    for _ in range(5):
        clock.step(1)
        scheduler.run()
    texts = [event["annotations"][REVISION] for event in events if REVISION in event.get("annotations", {})]
    audited = [int(version) for text in texts for version in text.split(",")]
    assert audited == list(range(first, api.state.store.revision + 1))
    assert api.state.store.revision == journal.last or not audited
    users = [event["user"]["username"] for event in events]
    assert users.count("system:anonymous") == sum(step in STEPS for step in steps)
    # The server itself only empties namespaces; rolling back a failed write is not audited.
    assert "empty" in steps or "system:apiserver" not in users
    assert_controllers_are_up_to_date(api)
