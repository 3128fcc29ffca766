"""Objects of every cluster, which a server with authorization creates at its first start, like a real one.

They are the Service of the server, the roles and bindings of users and components, flow schemas, priority classes, and
an APIService for each built-in group version. Objects that a client has changed stay unchanged.
"""

import uuid
from importlib.resources import files

import msgspec

from clientgo_apiserver.registry.metadata import timestamp
from clientgo_apiserver.registry.registry import Object
from clientgo_apiserver.state import State
from clientgo_apiserver.storage.stored import name_of

_decoder = msgspec.json.Decoder(Object)


def create_cluster_objects(state: State, port: int) -> None:
    """Store the missing objects of `bootstrap.jsonl`; the server listens on `port`."""
    now = timestamp(state.clock)
    text = (files(__package__) / "bootstrap.jsonl").read_bytes()
    text = text.replace(b'"NOW"', f'"{now}"'.encode()).replace(b'"PORT"', str(port).encode())
    for obj in _decoder.decode_lines(text):
        _add(state, obj, now)


def _add(state: State, obj: Object, now: str) -> None:
    group, _, version = obj["apiVersion"].rpartition("/")
    resource = state.registry.by_kind(group, version, obj["kind"])
    if resource is None or state.store.entry(resource.storage, *name_of(obj)) is not None:
        return
    meta = {**obj["metadata"], "uid": str(uuid.uuid4()), "creationTimestamp": now}
    state.store.put(resource.storage, {**obj, "metadata": meta})
