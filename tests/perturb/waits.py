"""Program that starts threads in each kind of wait, and prints those that `frames` does not recognize.

It imports only the standard library, so that it runs on each version of Python: `python waits.py path/to/frames.py`.
"""

# ruff: noqa: TID251  # it tests the threads of the standard library, outside pytest

import asyncio
import concurrent.futures
import importlib.util
import queue
import sys
import threading
import time
from collections.abc import Callable

SECONDS = 10.0


def main(path: str) -> None:
    spec = importlib.util.spec_from_file_location("frames", path)
    assert spec is not None
    assert spec.loader is not None
    frames = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(frames)
    condition, never, ended, items = threading.Condition(), threading.Event(), threading.Event(), queue.Queue[int]()
    executor = concurrent.futures.ThreadPoolExecutor(1)
    executor.submit(int).result()
    sleeper = threading.Thread(target=never.wait, daemon=True)
    sleeper.start()

    def wait_for_condition() -> None:
        with condition:
            condition.wait()

    def run() -> None:
        while not ended.is_set():
            pass

    waits: dict[str, Callable[[], object]] = {
        "condition": wait_for_condition,
        "event": never.wait,
        "event with a timeout": lambda: never.wait(3600),
        "queue": items.get,
        "join": sleeper.join,
        "join with a timeout": lambda: sleeper.join(3600),
        "future": concurrent.futures.Future[int]().result,
        "event loop": lambda: asyncio.run(asyncio.Event().wait()),
    }
    threads = {name: threading.Thread(target=wait, daemon=True, name=name) for name, wait in waits.items()}
    running = threading.Thread(target=run, daemon=True)
    for thread in (*threads.values(), running):
        thread.start()

    def unrecognized() -> list[str]:
        current = sys._current_frames()
        missed = [name for name, thread in threads.items() if not frames.waits(current[thread.ident or 0])]
        worker = next(iter(executor._threads))
        return missed + ([] if frames.is_idle_worker(current[worker.ident or 0]) else ["worker of an executor"])

    deadline = time.monotonic() + SECONDS
    while unrecognized() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not unrecognized(), unrecognized()
    assert not frames.waits(sys._current_frames()[running.ident or 0]), "a thread that runs"
    with condition:
        condition.notify_all()
        frame = sys._current_frames()[threads["condition"].ident or 0]
        assert frames.is_condition(frame), "a notified thread is still inside"
        assert not frames.waits(frame), "a notified thread"
    ended.set()
    print("ok", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
