"""Samples from config/samples as test objects."""

from pathlib import Path
from typing import TypeVar

from clientgo.envtest.crds import read_documents
from clientgo.meta.codec import decode, encode_value

T = TypeVar("T")

SAMPLES = Path(__file__).parent.parent / "config" / "samples"


def sample(cls: type[T], file: str, *, name: str, namespace: str = "") -> T:
    """Read a sample, with another name and namespace."""
    [document] = read_documents([SAMPLES / file])
    identity = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return decode(cls, encode_value({**document, "metadata": {**document["metadata"], **identity}}))
