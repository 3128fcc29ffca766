"""Tests of the fuzzing engine: crashes, hangs and unclear messages are found, inputs are counted."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from tests.fuzz.engine import Fuzzer, Target, keep, kept, shape_of
from tests.fuzz.grammar import Grammar
from tests.fuzz.mutation import Mutator
from tests.fuzz.sentences import sentence

ROOT = Path(__file__).parents[2]


def _breaks_at_depth(data: bytes) -> str:
    if data.count(b"[[") > 3:
        raise KeyError("unexpected")
    return "fine"


def _hangs_at_a_word(data: bytes) -> str:
    while b"spin" in data:
        pass
    return "fine"


def _shows_its_insides(data: bytes) -> str:
    try:
        return f"{int(data)}"
    except ValueError as error:
        return sentence(ValueError(f"not one line:\n{error}"), data, ValueError)


@pytest.mark.parametrize(
    ("run", "error"),
    [
        pytest.param(_breaks_at_depth, "KeyError", id="another exception"),
        pytest.param(_hangs_at_a_word, "Hung", id="no end"),
        pytest.param(_shows_its_insides, "Bug", id="no sentence"),
    ],
)
def test_what_is_wrong_is_found_once_with_its_input(run: Callable[[bytes], str], error: str) -> None:
    fuzzer = Fuzzer(Target("made", run, [b"[1]", b"12"], [b"spin", b"["]), seed=1, patience=0.1)
    fuzzer.spend(0.5)
    places = [crash.place for crash in fuzzer.tally.crashes]
    assert [location.partition(" ")[0] for location in places] == [error]
    assert fuzzer.tally.inputs > 3


def test_the_same_seed_makes_the_same_inputs() -> None:
    first, other = (Mutator(Random(7), [b"word"]) for _ in range(2))
    for data in (b'{"a":[1,{"b":null}]}', b"a=b", b""):
        assert [first.mutate(data, b"other") for _ in range(200)] == [other.mutate(data, b"other") for _ in range(200)]


def test_the_same_seed_makes_the_same_sentences() -> None:
    grammar = Grammar(start=("<word>", "(<start>)", "<start>,<start>"), word=lambda rng: rng.choice((b"a", b"b")))
    first, other = ([grammar.sentence(Random(seed)) for seed in range(50)] for _ in range(2))
    assert first == other
    assert {b"a", b"b"} < set(first)
    assert all(sentence.count(b"(") == sentence.count(b")") for sentence in first)


def test_input_is_kept_to_the_byte(tmp_path: Path) -> None:
    inputs = [bytes(range(256)), b"# no comment", b"", b"\\n\n"]
    keep("made", [(data, "why" if data else "") for data in inputs], folder=tmp_path)
    keep("made", [(inputs[0], "")], folder=tmp_path)
    assert list(kept("made", folder=tmp_path)) == [(data, "why" if data else "") for data in inputs]


def test_answers_are_alike_but_for_what_they_quote() -> None:
    assert shape_of("found 'a' at 12") == shape_of("found 'bc' at 7")
    assert shape_of("found 12") != shape_of("lost 12")


@pytest.mark.e2e
def test_the_command_counts_what_it_tried() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "hack.fuzz", "--minutes", "0.01", "--targets", "resource-versions", "--seed", "3"],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False, timeout=50,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert re.search(r"^[0-9,]+ inputs in [0-9]+ s, [0-9,]+ a second, 0 crashes$", done.stdout, re.MULTILINE)


@pytest.mark.e2e
def test_the_command_knows_its_targets() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "hack.fuzz", "--targets", "missing"],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False, timeout=50,
    )  # fmt: skip
    assert done.returncode == 2
    assert "invalid target missing: choose from label-selector" in done.stderr
