import pytest

from main import parser


def test_only_the_probes_listen_by_default() -> None:
    options = parser().parse_args([])

    assert options.metrics_bind_address is None
    assert options.health_probe_bind_address.port == 8081
    assert not options.leader_elect


def test_invalid_flag_is_rejected(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parser().parse_args(["--metrics-secure", "perhaps"])

    assert "expected true or false" in capsys.readouterr().err
