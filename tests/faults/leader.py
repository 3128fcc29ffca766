"""Leader frozen past its lease and resumed: the only fault that needs controllers as processes."""

import re
import signal
import urllib.request
from pathlib import Path

from clientgo.clock import SYSTEM_CLOCK
from clientgo.testing.eventually import eventually
from tests.e2e.clusters import namespace
from tests.e2e.replicas.elected import LEASE, RETRY, Replicas
from tests.faults.case import MACHINE, Row
from tests.faults.oracle import no_write_without_the_lease

FOOS = 20
FROZEN = "Leader frozen (SIGSTOP) past its lease, and thawed"


def frozen_leader(folder: Path) -> Row:
    """Freeze the leader while Foos are created; fail unless the other takes over and the leader writes nothing more."""
    replicas = Replicas(folder)
    try:
        with namespace(replicas.config, "frozen") as location:
            first = replicas.start("one", "--leader-elect")
            first.wait_for("starting workers")
            two = replicas.start("two", "--leader-elect", "--metrics-bind-address=127.0.0.1:0")
            served = re.search(r'url="(http://[^"]+)"', two.wait_for('"serving" server="metrics"'))
            assert served
            two.wait_for("new leader elected")
            first.signal(signal.SIGSTOP)
            began = SYSTEM_CLOCK.now()
            replicas.create_foos(location, 0, FOOS)
            bound = LEASE + 2.2 * RETRY + MACHINE
            eventually(lambda: replicas.synced(location) == FOOS, seconds=bound)
            healed = SYSTEM_CLOCK.now() - began
            assert _metric(served[1], "leader_election_master_status") == 1.0
            first.signal(signal.SIGCONT)
            code, output = first.end(seconds=15)
            assert (code, "Traceback" in output) == (1, False)
            built = no_write_without_the_lease(folder / "audit.log", {"one", "two"})
            assert built["one"] == 0
            assert built["two"] >= 2 * FOOS
            assert "leader election lost" in output
    finally:
        replicas.stop()
    return Row(
        fault=FROZEN,
        does="the standby leads when the lease has expired; the resumed leader writes nothing and exits to restart",
        healed=healed,
        bound=bound,
        since="its beginning",
        real="≤ 19.4 s: the lease's 15 s, and 2.2 times the retry period's 2 s",
        log='"leader election lost"',
        metric="leader_election_master_status",
        differs="client-go's leader that wakes may send the write it was at; here each write asks for the lease first",
    )


def _metric(url: str, name: str) -> float:
    with urllib.request.urlopen(f"{url}/metrics", timeout=10) as page:
        text: str = page.read().decode()
    return sum(float(line.rpartition(" ")[2]) for line in text.splitlines() if line.startswith(name))
