from clientgo.program import Address

from main import DEFAULTS


def test_only_the_probes_listen_by_default() -> None:
    assert DEFAULTS.metrics_bind_address is None
    assert DEFAULTS.health_probe_bind_address == Address("", 8081)
    assert not DEFAULTS.leader_elect
