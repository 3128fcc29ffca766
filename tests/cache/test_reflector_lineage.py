"""After a lost connection: is it still the server that told of what is in the cache?"""

import pytest

from clientgo.cache.lineage import foreign
from clientgo.cache.watching import WentBack
from clientgo.errors import ConnectionFailed
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.meta import ObjectList, ObjectName, replace
from clientgo.meta.options import ListOptions
from clientgo.testing.handler import RecordingHandler
from clientgo.testing.source import FakeWatch
from tests.cache.scripted import Script, added, config_map, following, handling, modified, page, run, watch

LOST = ConnectionFailed("reset by peer")


def made(uid: str, version: int | str, name: str = "a") -> ConfigMap:
    obj = config_map(name, version)
    return replace(obj, metadata=replace(obj.metadata, uid=uid))


@pytest.mark.parametrize(
    ("here", "there", "words"),
    [
        (made("1", 8), made("1", 8), ""),
        (made("1", 8), made("1", 12), ""),
        (None, made("1", 12), ""),
        (None, None, ""),
        (made("1", 8), None, ""),
        (made("", 8), made("1", 12), ""),
        (made("1", ""), made("1", 8), ""),
        (None, made("1", "opaque"), ""),
        (made("1", 8), made("2", 12), "another ns/a than"),
        (made("1", 8), made("2", 8), "another ns/a than"),
        (made("1", 8), made("1", 7), "ns/a at resourceVersion 7, of which it never told"),
        (made("1", 8), made("1", 10), "ns/a at resourceVersion 10, of which it never told"),
        (None, made("1", 10), "ns/a at resourceVersion 10, of which it never told"),
    ],
    ids=[
        "the same", "changed since", "came since", "none anywhere", "went since", "uid dropped", "version dropped",
        "version no number", "other uid", "other uid, same version", "undone", "changed unheard", "came unheard",
    ],
)  # fmt: skip
def test_what_one_object_says_about_its_server(here: ConfigMap | None, there: ConfigMap | None, words: str) -> None:
    answer: ObjectList[ConfigMap] = page(there) if there is not None else page()
    known = {ObjectName("ns", "a"): here} if here is not None else {}
    found = foreign(answer, "10", known.get)
    assert words in found
    assert bool(words) is bool(found)


class Confirming(Script):
    """Answers the question whether a version is known with this object."""

    found: ConfigMap

    def list_page(self, options: ListOptions) -> ObjectList[ConfigMap]:
        answer = super().list_page(options)
        return page(self.found) if options.limit == 1 else answer


def test_another_server_that_knows_the_version_too_is_listed_anew() -> None:
    handler: RecordingHandler[ConfigMap] = RecordingHandler()
    source = Confirming(
        page(made("1", 9), made("2", 10, "b")),
        watch(modified("b", 11), error=LOST),
        page(made("3", 20), version="30"),
        FakeWatch[ConfigMap](),
    )
    source.found = made("3", 20)
    with following(source, handling(handler)) as informer:
        handler.wait_for(5)
        source.wait_for_requests(4)
    assert source.calls() == ["list 0", "watch 10", "list newest", "watch 30"]
    assert [(obj.metadata.name, obj.metadata.uid) for obj in informer.indexer.list()] == [("a", "3")]


def test_the_same_server_is_watched_on() -> None:
    source = Confirming(page(made("1", 9)), watch(added("b", 11), error=LOST), watch(added("c", 12)))
    source.found = made("1", 9)
    errors = run(source, known={ObjectName("ns", "a"): made("1", 9)}.get)
    assert source.calls() == ["list 0", "watch 10", "watch 11"]
    assert not [error for error in errors if isinstance(error, WentBack)]


def test_no_request_is_to_wait_for_a_server_that_lags() -> None:
    asked: list[bool] = []

    class Source(Script):
        def list_page(self, options: ListOptions) -> ObjectList[ConfigMap]:
            asked.append(options.retry_lagging)
            return super().list_page(options)

    source = Source(page(), watch(added("a", 11), error=LOST), watch(modified("a", 12)))
    # Also where the tweak makes the options anew.
    run(source, tweak=lambda options: ListOptions(limit=options.limit, resource_version=options.resource_version))
    assert asked
    assert not any(asked)
    assert not any(options.retry_lagging for options in source.options("watch"))
