"""The objects in config/samples, for tests: what users are shown has to work."""

from pathlib import Path
from typing import TypeVar

from clientgo.envtest.crds import read_documents
from clientgo.meta.codec import decode, encode_value

T = TypeVar("T")

SAMPLES = Path(__file__).parent.parent / "config" / "samples"


def sample(cls: type[T], file: str, *, name: str, namespace: str = "") -> T:
    """The object in a file of config/samples, by another name."""
    [said] = read_documents([SAMPLES / file])
    place = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return decode(cls, encode_value({**said, "metadata": {**said["metadata"], **place}}))
