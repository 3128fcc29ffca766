#!/usr/bin/env bash
# watchdog 7.1.0 (PyPI)
# Behaviour: a file of a ConfigMap volume, a link that the kubelet lets lead to a new file at each update, gets no event
#   at all from Observer, whether the file or its folder is watched. PollingObserver reports that it was deleted and
#   created; none reports that it was modified. (chokidar 6.0.0 of npm reports a change at each update.)
# Expected: modified events, at least from polling, which compares what it reads.
# Matters: a handler that waits for on_modified of its file never reloads a configuration or certificate in a cluster.
. "$(dirname "$0")/lib.sh"
pypi watchdog==7.1.0

observe python - <<'CODE'
import os
import shutil
import time
from pathlib import Path

from watchdog.events import FileSystemEventHandler
from watchdog.observers import Observer
from watchdog.observers.polling import PollingObserver

volume = Path("volume").absolute()


def update(number):
    """Replace the files as the kubelet does: a new folder, and a link to it that is renamed."""
    folder = volume / f"..{number}"
    folder.mkdir()
    (folder / "config.yaml").write_text(str(number))
    (volume / "..next").symlink_to(folder.name)
    (volume / "..next").rename(volume / "..data")
    shutil.rmtree(volume / f"..{number - 1}", ignore_errors=True)


class Handler(FileSystemEventHandler):
    def __init__(self):
        self.seen = set()

    def on_any_event(self, event):
        if event.src_path == os.fspath(volume / "config.yaml"):
            self.seen.add(event.event_type)


volume.mkdir()
update(0)
(volume / "config.yaml").symlink_to("..data/config.yaml")
number = 1
for kind in (Observer, PollingObserver):
    for watched in (volume / "config.yaml", volume):
        handler, observer = Handler(), kind()
        observer.schedule(handler, os.fspath(watched))
        observer.start()
        for number in (number + 1, number + 2):
            time.sleep(1.5)
            update(number)
        time.sleep(2)
        observer.stop()
        observer.join()
        number += 1
        update(number)
        print(kind is PollingObserver, watched.name, sorted(handler.seen - {"opened", "closed_no_write"}))
CODE
expect "False config.yaml []
False volume []
True config.yaml ['created', 'deleted']
True volume ['created', 'deleted']"
