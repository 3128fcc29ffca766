"""Parallel execution of pieces of work."""

import threading
from collections import Counter

import pytest

from clientgo.workqueue import parallelize_until


class Pieces:
    """Counts the pieces done and the threads that did them."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.done: Counter[int] = Counter()
        self.threads: set[str] = set()

    def do(self, piece: int) -> None:
        with self.lock:
            self.done[piece] += 1
            self.threads.add(threading.current_thread().name)


@pytest.mark.feature("B-WQ-11")
@pytest.mark.behaviour("WQ-24")
@pytest.mark.parametrize(
    ("pieces", "workers", "chunk_size"), [(1000, 10, 1), (1000, 10, 10), (1000, 10, 100), (999, 10, 13)]
)
def test_every_piece_is_processed_once(pieces: int, workers: int, chunk_size: int) -> None:
    work = Pieces()
    parallelize_until(threading.Event(), workers, pieces, work.do, chunk_size=chunk_size)
    assert work.done == Counter(range(pieces))
    assert work.threads <= {f"parallelize-{number}" for number in range(workers)}


def test_zero_pieces_return_at_once() -> None:
    work = Pieces()
    parallelize_until(threading.Event(), 10, 0, work.do)
    assert work.done == {}


def test_workers_run_in_parallel() -> None:
    together = threading.Barrier(4)
    parallelize_until(threading.Event(), 4, 4, lambda _: together.wait(10))
    assert not together.broken


def test_number_of_threads_is_limited_to_the_chunks() -> None:
    work = Pieces()
    parallelize_until(threading.Event(), 10, 12, work.do, chunk_size=6)
    assert work.threads <= {"parallelize-0", "parallelize-1"}


def test_no_piece_is_started_after_stop() -> None:
    stop, work = threading.Event(), Pieces()

    def do(piece: int) -> None:
        work.do(piece)
        if piece == 5:
            stop.set()

    parallelize_until(stop, 1, 100, do, chunk_size=10)
    assert work.done == Counter(range(6))


def test_exception_in_a_piece_stops_all_threads_and_is_raised() -> None:
    stop, work = threading.Event(), Pieces()

    def do(piece: int) -> None:
        work.do(piece)
        if piece == 5:
            raise RuntimeError("piece 5")

    with pytest.raises(RuntimeError, match="piece 5"):
        parallelize_until(stop, 1, 100, do)
    assert work.done == Counter(range(6))
    assert not stop.is_set()


@pytest.mark.parametrize(("workers", "pieces", "chunk_size"), [(0, 1, 1), (1, -1, 1), (1, 1, 0)])
def test_invalid_numbers_are_rejected(workers: int, pieces: int, chunk_size: int) -> None:
    with pytest.raises(ValueError, match="invalid pieces="):
        parallelize_until(threading.Event(), workers, pieces, print, chunk_size=chunk_size)
