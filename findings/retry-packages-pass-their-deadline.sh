#!/usr/bin/env bash
# stamina 26.1.0, tenacity 9.2.1 and backoff 2.2.1 (PyPI)
# Behaviour: with a deadline of 1 s and a wait of 0.7 s, stamina (timeout) and tenacity (stop_after_delay) start a wait
#   that ends after the deadline, and try again. backoff (max_time) cuts its last wait at the deadline. stamina's next
#   wait is twice as long, so that it passes the deadline by more.
# Expected: no attempt after the deadline; tenacity has another class for it, stop_before_delay.
# Matters: a write with a deadline, such as the renewal of a lease, can happen after another replica took the lease.
. "$(dirname "$0")/lib.sh"
pypi stamina==26.1.0 tenacity==9.2.1 backoff==2.2.1

observe python - <<'CODE'
import logging
import time

import backoff
import stamina
import tenacity


def attempts(retry):
    """Return the number of attempts, and whether the last one was after 1.2 and after 1.9 seconds."""
    start, ends = time.monotonic(), []

    def fail():
        ends.append(time.monotonic() - start)
        raise ValueError

    try:
        retry(fail)()
    except (ValueError, tenacity.RetryError):
        return len(ends), ends[-1] > 1.2, ends[-1] > 1.9


logging.disable()
stamina.instrumentation.set_on_retry_hooks([])
print("stamina", attempts(stamina.retry(on=ValueError, attempts=None, timeout=1, wait_initial=0.7, wait_jitter=0)))
print("tenacity", attempts(tenacity.retry(stop=tenacity.stop_after_delay(1), wait=tenacity.wait_fixed(0.7))))
print("backoff", attempts(backoff.on_exception(backoff.constant, ValueError, max_time=1, interval=0.7, jitter=None)))
CODE
expect "stamina (3, True, True)
tenacity (3, True, False)
backoff (3, False, False)"
