"""`make dist`: archives of a tree have the same bytes each time, and are fit to be published."""

import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from hack import dist
from hack.checkout import DISTRIBUTIONS, version
from tests.project.checkouts import copy_checkout

pytestmark = pytest.mark.e2e

EPOCH = 1_800_000_000
METADATA = "Metadata-Version: 2.4\nName: foo\nVersion: 1.0\nSummary: Foo\nLicense-File: LICENSE\n"
MORE = "License-Expression: Apache-2.0\nRequires-Python: >=3.11\nDescription-Content-Type: text/markdown\n"


def olm(folder: Path) -> dict[str, str]:
    """Build the smallest distribution."""
    copy_checkout(folder / "tree")
    dist.build(folder / "tree", folder / "built", EPOCH, names=["clientgo-olm"])
    return dist.digests(folder / "built")


@pytest.mark.timeout(120)
def test_second_build_elsewhere_has_the_same_bytes(tmp_path: Path) -> None:
    first = olm(tmp_path / "first")
    assert list(first) == [f"clientgo_olm-{version('clientgo-olm')}{end}" for end in ("-py3-none-any.whl", ".tar.gz")]
    dist.compare(first, olm(tmp_path / "the" / "second"))
    for name in first:
        assert list(dist.problems(tmp_path / "first" / "built" / name)) == []


def test_source_archive_is_independent_of_owner_mode_time_and_order(tmp_path: Path) -> None:
    for name, names, owner, mode in (("a", ("x/1", "x/2"), 5, 0o664), ("b", ("x/2", "x/1"), 0, 0o600)):
        with tarfile.open(tmp_path / f"{name}-raw", "w:gz") as tar:
            for member in names:
                entry = tarfile.TarInfo(member)
                entry.uid, entry.mode, entry.mtime, entry.size = owner, mode, owner + 1000, 3
                tar.addfile(entry, io.BytesIO(member.encode()))
        dist.repack(tmp_path / f"{name}-raw", tmp_path / name, EPOCH)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_builds_that_differ_are_named() -> None:
    with pytest.raises(dist.DistError, match=r"a second build has other bytes: b\.whl, c\.whl"):
        dist.compare({"a.whl": "1", "b.whl": "2"}, {"a.whl": "1", "b.whl": "3", "c.whl": "4"})


@pytest.mark.parametrize(
    ("metadata", "problem"),
    [
        (f"{METADATA}{MORE}\n# Foo\n", ""),
        (f"{METADATA}\n# Foo\n", "the metadata have no License-Expression"),
        (f"{METADATA}{MORE}Requires-Dist: a b\n\n# Foo\n", "requires-dist"),
        (f"{METADATA}{MORE}\nFoo\n", "the README has no heading"),
    ],
    ids=["fit", "licence", "requirement", "README"],
)
def test_problem_of_the_metadata_is_named(tmp_path: Path, metadata: str, problem: str) -> None:
    with zipfile.ZipFile(path := tmp_path / "foo-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("foo-1.0.dist-info/METADATA", metadata)
    errors = list(dist.problems(path))
    assert problem in "".join(errors)
    assert bool(errors) == bool(problem)


def test_missing_archives_are_named(tmp_path: Path) -> None:
    with pytest.raises(dist.DistError) as caught:
        dist.check(tmp_path)
    assert str(caught.value).splitlines() == [
        f"no {name.replace('-', '_')}{end}" for name in DISTRIBUTIONS for end in (".tar.gz", ".whl")
    ]


def test_links_of_the_readmes_lead_to_the_repository(tmp_path: Path) -> None:
    for folder in DISTRIBUTIONS.values():
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / "setup.cfg").write_text("[metadata]\nname = foo\n")
        (tmp_path / folder / "README.md").write_text(
            "[a](docs/a.md#b) [b](../README.md) [c](#d) [e](https://example.com/f) ![g](docs/h.png)"
        )
    dist.locate_links(tmp_path, "https://git.example.com/team/foo")
    assert (tmp_path / "olm" / "README.md").read_text() == (
        "[a](https://git.example.com/team/foo/blob/HEAD/olm/docs/a.md#b)"
        " [b](https://git.example.com/team/foo/blob/HEAD/README.md) [c](#d) [e](https://example.com/f)"
        " ![g](https://git.example.com/team/foo/raw/HEAD/olm/docs/h.png)"
    )
    assert "Source = https://git.example.com/team/foo\n" in (tmp_path / "setup.cfg").read_text()
