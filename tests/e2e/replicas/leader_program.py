"""Candidate as a process: `python leader_program.py KUBECONFIG NAMESPACE IDENTITY LEASE RENEW RETRY`.

Prints `leading` when it starts to work and `stopped` when it has stepped down, after SIGTERM.
"""

import os
import sys
import threading

from clientgo.kubernetes.clientset import Clientset
from clientgo.leaderelection import LeaderElector, LeaseLock, config_for_lock
from clientgo.rest import load_config
from clientgo.stop.signals import stop_on_signals


def say(what: str) -> None:
    # In one go: two threads say something, and `print` writes a text and its end of line separately.
    os.write(sys.stdout.fileno(), f"{what}\n".encode())


def work(stop: threading.Event) -> None:
    say("leading")
    stop.wait()


def main(kubeconfig: str, namespace: str, identity: str, *seconds: str) -> None:
    lease_duration, renew_deadline, retry_period = map(float, seconds)
    stop = stop_on_signals()
    config = config_for_lock(load_config(kubeconfig=kubeconfig), renew_deadline=renew_deadline)
    clientset = Clientset(config)
    elector = LeaderElector(
        LeaseLock(clientset, namespace, "handover", identity),
        lease_duration=lease_duration,
        renew_deadline=renew_deadline,
        retry_period=retry_period,
        on_started_leading=work,
        on_stopped_leading=lambda: say("stopped"),
        on_new_leader=lambda leader: say(f"leader is {leader or 'nobody'}"),
    )
    elector.run(stop)
    clientset.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
