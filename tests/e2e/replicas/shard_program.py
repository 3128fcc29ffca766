"""Member of three shards as a process.

`python shard_program.py KUBECONFIG NAMESPACE IDENTITY FILE LEASE RENEW RETRY`

Processes sixty keys repeatedly, and writes a line into FILE for each: the key, start and end (in monotonic
seconds), and whether it owned the key until the end. SIGTERM makes it leave.
"""

import json
import sys
from pathlib import Path

from clientgo.clock import SYSTEM_CLOCK
from clientgo.kubernetes.clientset import Clientset
from clientgo.leaderelection import config_for_lock
from clientgo.rest import load_config
from clientgo.sharding import Shards
from clientgo.stop.lifecycle import Group
from clientgo.stop.signals import stop_on_signals

KEYS = [f"3f2a1b3c-0000-4000-8000-{number:012}" for number in range(60)]
WORK = 0.002
"""Seconds of one piece of work."""


def main(kubeconfig: str, namespace: str, identity: str, file: str, *seconds: str) -> None:
    lease_duration, renew_deadline, retry_period = map(float, seconds)
    stop = stop_on_signals()
    config = load_config(kubeconfig=kubeconfig)
    clientset = Clientset(config_for_lock(config, renew_deadline=renew_deadline))
    shards = Shards(
        clientset, namespace=namespace, lease_prefix="e2e", count=3, identity=identity,
        lease_duration=lease_duration, renew_deadline=renew_deadline, retry_period=retry_period,
    )  # fmt: skip
    with Path(file).open("a", buffering=1) as out:

        def work() -> None:
            while not stop.is_set():
                for key in KEYS:
                    with shards.owning(key) as mine:
                        if mine:
                            began = SYSTEM_CLOCK.now()
                            SYSTEM_CLOCK.sleep(stop, WORK)
                            ended = SYSTEM_CLOCK.now()
                            valid = shards.valid(key)
                            out.write(json.dumps({"key": key, "from": began, "to": ended, "valid": valid}) + "\n")
                SYSTEM_CLOCK.sleep(stop, WORK)

        with Group(stop=stop) as group:
            group.start(work, name="worker")
            group.start(shards.run, stop, name="shards")
            group.join()
    clientset.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
