"""Fuzzing engine: mutates a corpus, counts inputs, and stores new and failing ones.

Without coverage guidance, an input with a new result (its text without quoted parts) joins the pool for the
next mutations. A target with a grammar gets sentences of it as well.
"""

import hashlib
import random
import re
import resource
import signal
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from clientgo.clock import SYSTEM_CLOCK
from tests.fuzz.grammar import Grammar
from tests.fuzz.mutation import Mutator

CORPUS = Path(__file__).parent / "corpus"

PATIENCE = 5.0
"""Seconds of CPU after which one input has hung its target."""

MEMORY = 256 * 1024
"""KiB by which a target may make the process grow; what inputs of at most 64 KiB need is far below."""

_NUMBER = re.compile(r"[0-9]+")
_QUOTES = re.compile(r"['\"$]")

POOL = 400
"""Inputs that new ones are made from at most; those of the corpus are always among them."""


class Hung(BaseException):
    """Timeout of an input. Not an `Exception`, so that targets do not catch it."""


class Bug(AssertionError):
    """Wrong result of a target."""


@dataclass(frozen=True)
class Target:
    """Parser of external input. `run` returns a description of the result; every exception is a bug."""

    name: str
    run: Callable[[bytes], str]
    seeds: Sequence[bytes]
    words: Sequence[bytes] = ()
    once: Sequence[bytes] = ()
    """Inputs that are tried once and not made anything of, because they take long."""
    weight: float = 1.0
    """Its share of the time, beside the others'."""
    grammar: Grammar | None = None
    """Sentences that are tried besides the mutations, half of them mutated."""


@dataclass(frozen=True)
class Crash:
    """Failing input, with its error."""

    data: bytes
    error: str
    place: str


@dataclass
class Tally:
    """Results of a run over one target."""

    inputs: int = 0
    seconds: float = 0.0
    answers: set[str] = field(default_factory=set)
    crashes: list[Crash] = field(default_factory=list)
    new: list[bytes] = field(default_factory=list)


class Fuzzer:
    """Runner of one target: its corpus first, then mutations. Main thread only: a signal ends hangs."""

    def __init__(self, target: Target, seed: int, *, patience: float = PATIENCE) -> None:
        """Create a runner; an input that takes `patience` seconds of CPU counts as hung."""
        self.target = target
        self._patience = patience
        self.tally = Tally()
        self._rng = random.Random(f"{seed}/{target.name}")
        self._mutator = Mutator(self._rng, target.words)
        self._pool = [*target.seeds, *(data for data, _ in kept(target.name))]
        self._fixed = len(self._pool)
        self._places: set[str] = set()
        self._memory = 0

    def replay(self) -> None:
        """Try the whole corpus."""
        with watched():
            for data in (*self.target.once, *self._pool[: self._fixed]):
                self._try(data)

    def spend(self, seconds: float) -> None:
        """Try new inputs for some seconds."""
        began = now = SYSTEM_CLOCK.now()
        self._memory = self._memory or _peak()
        with watched():
            while now - began < seconds:
                for _ in range(20):
                    self._try(self._input())
                    if self.tally.inputs % 10 == 0 and SYSTEM_CLOCK.now() - began >= seconds:
                        break
                now = SYSTEM_CLOCK.now()
        self.tally.seconds += now - began
        if (grown := _peak() - self._memory) > MEMORY:
            self._crashed(b"", Bug(f"the process grew by {grown} KiB"), "memory")

    def _input(self) -> bytes:
        """Return a mutation of an input of the pool, or for half of the inputs a sentence of the grammar."""
        grammar, other = self.target.grammar, self._rng.choice(self._pool)
        if grammar is None or self._rng.random() < 0.5:
            return self._mutator.mutate(self._rng.choice(self._pool), other)
        data = grammar.sentence(self._rng)
        return data if self._rng.random() < 0.5 else self._mutator.mutate(data, other)

    def _try(self, data: bytes) -> None:
        self.tally.inputs += 1
        signal.setitimer(signal.ITIMER_VIRTUAL, self._patience)
        try:
            result = self.target.run(data)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001  # to find what else a target raises is what this is for
            self._crashed(data, error, _place(error))
            return
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        shape = shape_of(result)
        if shape not in self.tally.answers:
            self.tally.answers.add(shape)
            self._learn(data)

    def _learn(self, data: bytes) -> None:
        if data in self._pool:
            return
        self.tally.new.append(data)
        if len(self._pool) < POOL:
            self._pool.append(data)
        elif self._fixed < POOL:
            self._pool[self._rng.randrange(self._fixed, POOL)] = data

    def _crashed(self, data: bytes, error: BaseException, location: str) -> None:
        if location not in self._places:
            self._places.add(location)
            self.tally.crashes.append(Crash(data, "".join(traceback.format_exception(error)[-6:]), location))


def shape_of(response: str) -> str:
    """Return a result without its quoted parts, which come from the input."""
    return _NUMBER.sub("_", _QUOTES.split(response, maxsplit=1)[0][:80])


def kept(name: str, *, folder: Path = CORPUS) -> Iterator[tuple[bytes, str]]:
    """Return the inputs of a target's corpus, each with the comment above it."""
    path = folder / f"{name}.txt"
    note = ""
    for line in path.read_text(encoding="ascii").splitlines() if path.exists() else ():
        if line.startswith("# "):
            note = line[2:]
            continue
        yield line.encode("ascii").decode("unicode_escape").encode("latin-1"), note
        note = ""


def keep(name: str, result: Sequence[tuple[bytes, str]], *, folder: Path = CORPUS) -> None:
    """Add inputs to a target's corpus, with optional comments."""
    registered = {data for data, _ in kept(name, folder=folder)}
    with (folder / f"{name}.txt").open("a", encoding="ascii") as file:
        for data, note in result:
            if data not in registered:
                registered.add(data)
                file.write(f"# {note}\n" if note else "")
                text = data.decode("latin-1").encode("unicode_escape").decode("ascii")
                file.write(("\\x23" + text[1:] if text.startswith("#") else text) + "\n")


def digest(data: bytes) -> str:
    """Return a short name of an input."""
    return hashlib.sha256(data).hexdigest()[:12]


@contextmanager
def watched() -> Iterator[None]:
    """Raise `Hung` in the block after a CPU time limit; no test runner uses this timer."""

    def hang(_: int, __: FrameType | None) -> None:
        raise Hung("no answer in time")

    before = signal.signal(signal.SIGVTALRM, hang)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _place(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    local = [frame for frame in frames if "clientgo" in frame.filename or "controller" in frame.filename] or frames
    last = local[-1]
    return f"{type(error).__name__} at {Path(last.filename).name}:{last.name}"
