import asyncio
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apiserver.tests.inprocess import DEPLOYMENTS, FOOS, MERGE, Kube, deployment, foo
from clientgo_apiserver.handlers.watching import WatchServer
from clientgo_apiserver.state import ServerOptions
from tests.models.budget import examples


def kinds(watch: WatchServer) -> list[tuple[str, str]]:
    return [(frame["type"], frame["object"]["metadata"].get("name", "")) for frame in watch.take()]


def test_watch_from_the_past_replays_what_it_missed_and_goes_on(kube: Kube) -> None:
    since = kube.ok("POST", FOOS, foo("a"))["metadata"]["resourceVersion"]
    kube.ok("POST", FOOS, foo("b"))
    watch = kube.watch(f"{FOOS}?resourceVersion={since}")
    kube.ok("POST", FOOS, foo("c"))
    assert kinds(watch) == [("ADDED", "b"), ("ADDED", "c")]


def test_watch_without_a_version_begins_with_what_is_there(kube: Kube) -> None:
    kube.ok("POST", FOOS, foo("a"))
    watch = kube.watch(FOOS)
    kube.ok("POST", FOOS, foo("b"))
    assert kinds(watch) == [("ADDED", "a"), ("ADDED", "b")]


def test_version_outside_the_history_ends_the_watch_with_an_expired_error() -> None:
    kube = Kube(ServerOptions(history=1))
    watch = kube.watch(f"{FOOS}?resourceVersion=1")
    [frame] = watch.take()
    assert (frame["type"], frame["object"]["code"], frame["object"]["reason"]) == ("ERROR", 410, "Expired")
    assert watch.closed


def test_initial_events_end_with_an_annotated_bookmark_if_bookmarks_are_asked_for(kube: Kube) -> None:
    kube.ok("POST", FOOS, foo("a"))
    url = f"{FOOS}?sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
    assert [frame["type"] for frame in kube.watch(url).take()] == ["ADDED"]
    added, bookmark = kube.watch(f"{url}&allowWatchBookmarks=true").take()
    assert (added["type"], bookmark["type"]) == ("ADDED", "BOOKMARK")
    assert bookmark["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


def test_watch_is_limited_to_its_namespace(kube: Kube) -> None:
    kube.ok("POST", "/api/v1/namespaces", {"metadata": {"name": "other"}})
    watch = kube.watch(FOOS)
    kube.ok("POST", FOOS.replace("default", "other"), foo("x"))
    assert kinds(watch) == []


def test_streams_of_one_form_share_the_frame(kube: Kube) -> None:
    watches = [kube.watch(FOOS), kube.watch(FOOS)]
    kube.ok("POST", FOOS, foo("a"))
    first, other = (watch._pending[0] for watch in watches)  # identity is the promise
    assert first is other


def test_watched_table_sends_its_columns_once(kube: Kube) -> None:
    watch = kube.watch(DEPLOYMENTS, accept="application/json;as=Table;v=v1;g=meta.k8s.io")
    kube.ok("POST", DEPLOYMENTS, deployment("a"))
    kube.ok("POST", DEPLOYMENTS, deployment("b"))
    first, second = watch.take()
    assert first["object"]["kind"] == "Table"
    assert first["object"]["columnDefinitions"]
    assert second["object"]["columnDefinitions"] is None


@pytest.mark.parametrize(("code", "query"), [(500, "resourceVersion=x"), (400, "timeoutSeconds=x")])
def test_non_numeric_options_are_rejected(kube: Kube, code: int, query: str) -> None:
    kube.refused(code, "GET", f"{FOOS}?watch=1&{query}")


def test_the_stream_ends_when_its_time_is_up_and_leaves_the_store(kube: Kube) -> None:
    kube.ok("POST", FOOS, foo("a"))
    kube.set_options(max_watch=0)
    watch = kube.watch(FOOS)

    async def read() -> list[bytes]:
        return [chunk async for chunk in watch.chunks()]

    assert len(asyncio.run(read())) == 1
    kube.ok("POST", FOOS, foo("b"))
    assert watch.closed
    assert watch.take() == []


def test_quiet_watch_gets_bookmarks(kube: Kube) -> None:
    kube.set_options(bookmark_interval=0.001)
    watch = kube.watch(f"{FOOS}?allowWatchBookmarks=true&resourceVersion={kube.api.state.store.revision}")

    async def first() -> bytes:
        async for chunk in watch.chunks():
            return chunk
        return b""

    frame = json.loads(asyncio.run(first()))
    assert frame["type"] == "BOOKMARK"
    assert frame["object"]["metadata"] == {"resourceVersion": str(kube.api.state.store.revision)}


def direct(kube: Kube, url: str, *, ending: str = "") -> list[bytes]:
    """Return what a stream sends for two Foos written in one turn and one in the next, or until it ends first."""
    watch = kube.watch(url)
    sent: list[bytes] = []

    async def create(name: str) -> None:
        body = json.dumps(foo(name)).encode()
        await kube.api.handle("POST", FOOS, "", {"content-type": "application/json"}, body)

    async def read() -> None:
        watch.direct = sent.append
        reader = asyncio.ensure_future(_read(watch, sent))
        await asyncio.sleep(0)
        for name in "ab":
            await create(name)
        if ending == "closed":
            watch.close()
            await reader
        kube.scheduler.run()
        await create("c")
        kube.scheduler.run()
        watch.close()
        await reader

    asyncio.run(read())
    return sent


async def _read(watch: WatchServer, into: list[bytes]) -> None:
    into.extend([chunk async for chunk in watch.chunks()])


def told(sent: list[bytes]) -> list[list[str]]:
    return [[json.loads(line)["object"]["metadata"]["name"] for line in item.splitlines()] for item in sent]


def test_frames_of_one_turn_of_the_loop_are_sent_together(kube: Kube) -> None:
    url = f"{FOOS}?resourceVersion={kube.api.state.store.revision}"
    assert told(direct(kube, url)) == [["a", "b"], ["c"]]


def test_what_is_pending_when_a_watch_is_closed_is_sent_before_its_end_and_once(kube: Kube) -> None:
    url = f"{FOOS}?resourceVersion={kube.api.state.store.revision}"
    assert told(direct(kube, url, ending="closed")) == [["a", "b"]]


STEPS = st.lists(
    st.tuples(st.sampled_from(["POST", "PATCH", "DELETE"]), st.sampled_from("abc"), st.sampled_from("xy")), max_size=25
)


@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(STEPS, STEPS, st.sampled_from(["", "&labelSelector=s=x", "&fieldSelector=metadata.name=a"]))
def test_list_replayed_with_its_watch_equals_the_final_list(before: Any, after: Any, select: str) -> None:
    kube = Kube()
    kube.ok("DELETE", FOOS)
    for step in before:
        change(kube, *step)
    listed = kube.ok("GET", f"{FOOS}?{select[1:]}")
    seen = {item["metadata"]["name"]: item for item in listed["items"]}
    watch = kube.watch(f"{FOOS}?resourceVersion={listed['metadata']['resourceVersion']}{select}")
    for step in after:
        change(kube, *step)
    for frame in watch.take():
        name = frame["object"]["metadata"]["name"]
        assert (name in seen) is (frame["type"] != "ADDED")
        if frame["type"] == "DELETED":
            del seen[name]
        else:
            seen[name] = frame["object"]
    assert list(dict(sorted(seen.items())).values()) == kube.ok("GET", f"{FOOS}?{select[1:]}")["items"]


KINDS = {"POST": "application/json", "PATCH": MERGE, "DELETE": "application/json"}


def change(kube: Kube, method: str, name: str, label: str) -> None:
    body = foo(name, labels={"s": label}) if method == "POST" else {"metadata": {"labels": {"s": label}}}
    kube.send(
        method, FOOS if method == "POST" else f"{FOOS}/{name}", body if method != "DELETE" else None, KINDS[method]
    )
