import pytest

from main import parser


def test_nothing_listens_but_the_probes_unless_asked() -> None:
    options = parser().parse_args([])

    assert options.metrics_bind_address is None
    assert options.health_probe_bind_address.port == 8081
    assert not options.leader_elect


def test_a_flag_that_makes_no_sense_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parser().parse_args(["--metrics-secure", "perhaps"])

    assert "neither true nor false" in capsys.readouterr().err
