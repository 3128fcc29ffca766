"""What holds for every test: time may be frozen, a slow machine is no failure, and programs can be interrupted."""

import signal

import freezegun
from hypothesis import HealthCheck, settings

# freezegun looks at every attribute of every loaded module; these two answer by building classes, of the frozen time.
freezegun.configure(extend_ignore_list=["kubernetes", "pydantic"])

# How long an example takes depends on who else uses the machine; whole tests have a timeout.
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")

# A shell has what it starts in the background ignore SIGINT, and so would every program that a test starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
