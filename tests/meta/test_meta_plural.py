"""Plurals of kinds."""

import pytest

from clientgo.meta.plural import plural_of


@pytest.mark.feature("D-38")
@pytest.mark.parametrize(
    ("singular", "plural"),
    [
        ("foo", "foos"),
        ("deployment", "deployments"),
        ("networkpolicy", "networkpolicies"),
        ("gateway", "gateways"),
        ("key", "keys"),
        ("ingress", "ingresses"),
        ("storageclass", "storageclasses"),
        ("box", "boxes"),
        ("batch", "batches"),
        ("mesh", "meshes"),
        ("endpoints", "endpoints"),
    ],
)
def test_kinds_get_the_plural_an_english_speaker_would_give(singular: str, plural: str) -> None:
    assert plural_of(singular) == plural
