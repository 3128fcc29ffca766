"""Layers of tests, and rules that keep a test from blocking the run."""

import ast
import sys
from pathlib import Path

import pytest

from clientgo.testing.eventually import TIME_FACTOR, eventually
from tests.processes import Child, is_running

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[2]
RUNS = ("subprocess.run", "subprocess.check_output", "subprocess.check_call", "subprocess.call")
HELPER = {"tests/processes.py"}
FOLDERS = ("tests", "apiserver/tests", "olm/tests", "examples")
FILES = [path for folder in FOLDERS for path in ROOT.glob(f"{folder}/**/*.py")]


def unbounded(source: str) -> list[int]:
    """Return the lines of calls that may wait for a process without a limit."""
    if "subprocess" not in source and "Popen" not in source:
        return []
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    limits = {call: {keyword.arg for keyword in call.keywords} for call in calls}
    names = {call: ast.unparse(call.func) for call in calls}
    return [c.lineno for c in calls if names[c].endswith("Popen") or (names[c] in RUNS and "timeout" not in limits[c])]


def test_every_process_has_a_time_limit() -> None:
    result = {path.relative_to(ROOT).as_posix(): unbounded(path.read_text(encoding="utf-8")) for path in FILES}
    assert {path: lines for path, lines in result.items() if lines and path not in HELPER} == {}


@pytest.fixture
def inner(pytester: pytest.Pytester) -> pytest.Pytester:
    """Return a project of one test file with the plugin."""
    pytester.makeconftest('pytest_plugins = ["tests.layers"]')
    marks = "".join(f"\n  {name}: x" for name in ("unit", "integration", "e2e", "slow"))
    pytester.makeini(f"[pytest]\ntimeout = 60\naddopts = -p no:cacheprovider\nmarkers ={marks}\npythonpath = {ROOT}")
    return pytester


@pytest.mark.e2e
@pytest.mark.parametrize(
    ("body", "needs"),
    [
        ("pass", "unit"),
        ("socket.create_server(('127.0.0.1', 0)).close()", "integration"),
        ("subprocess.run(['true'], timeout=9)", "e2e"),
    ],
)
def test_test_that_does_more_than_its_layer_allows_fails(inner: pytest.Pytester, body: str, needs: str) -> None:
    layers = ("unit", "integration", "e2e")
    marked = "".join(f"@pytest.mark.{layer}\ndef test_{layer}(): {body}\n" for layer in layers)
    inner.makepyfile(f"import pytest, socket, subprocess\n{marked}")
    passing = len(layers) - layers.index(needs)
    inner.runpytest_subprocess().assert_outcomes(passed=passing, failed=len(layers) - passing)


@pytest.mark.e2e
def test_shared_fixture_puts_every_test_that_uses_it_into_its_layer(inner: pytest.Pytester) -> None:
    inner.makepyfile("""
        import pytest, socket
        @pytest.fixture(scope="module")
        def port():
            with socket.create_server(("127.0.0.1", 0)) as listener:
                yield listener.getsockname()[1]
        @pytest.mark.integration
        def test_first(port): assert port
        def test_second(port): assert port
        def test_third(): pass
    """)
    inner.runpytest_subprocess().assert_outcomes(passed=2, failed=1)


@pytest.mark.e2e
def test_unit_tests_come_first_and_can_be_selected(inner: pytest.Pytester) -> None:
    inner.makepyfile("import pytest\n@pytest.mark.e2e\ndef test_a(): pass\ndef test_b(): pass")
    out = inner.runpytest_subprocess("-v").stdout
    out.fnmatch_lines(["*::test_b PASSED*", "*::test_a PASSED*"])
    inner.runpytest_subprocess("-m", "unit").assert_outcomes(passed=1, deselected=1)


@pytest.mark.e2e
def test_limits_are_multiplied_by_the_factor(inner: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: TID251  # the environment of the run
    monkeypatch.setenv(TIME_FACTOR, "40")
    inner.makepyfile("""
        import pytest, subprocess, sys, time
        from clientgo.testing.eventually import TIME_FACTOR, eventually
        from tests.processes import Child
        pytestmark = [pytest.mark.e2e, pytest.mark.timeout(0.1)]
        LATE = [sys.executable, "-c", "import time; time.sleep(0.3); print('late', flush=True); time.sleep(60)"]
        def test_pytest(): subprocess.run(["sleep", "0.2"], timeout=60)
        def test_program(): subprocess.run(["sleep", "0.2"], timeout=0.1, check=True)
        def test_eventually(): eventually(lambda began=time.monotonic(): time.monotonic() > began + 0.2, seconds=0.1)
        def test_child(tmp_path):
            with Child(LATE, tmp_path / "output") as child:
                child.wait_for("late", 0.1)
    """)
    done = inner.runpytest_subprocess("-n", "1")
    done.assert_outcomes(passed=4)
    done.stdout.fnmatch_lines(["time limits: multiplied by 40 *"])


@pytest.mark.e2e
def test_factor_is_measured_unless_it_is_set(inner: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: TID251  # the environment of the run
    monkeypatch.delenv(TIME_FACTOR, raising=False)
    inner.makeconftest("""
        import os
        os.getloadavg = lambda: (15.0, 0.0, 0.0)
        os.cpu_count = lambda: 2
        pytest_plugins = ["tests.layers"]
    """)
    inner.makepyfile("def test_a(): pass")
    inner.runpytest_subprocess().stdout.fnmatch_lines(["time limits: multiplied by 7.5 *"])


@pytest.mark.e2e
@pytest.mark.parametrize("workers", [(), ("-n", "1")], ids=["alone", "xdist"])
def test_failure_is_printed_when_it_happens(inner: pytest.Pytester, workers: tuple[str, ...]) -> None:
    inner.makepyfile("""
        import pytest
        def test_first(): assert 1 == 2, "one is not two"
        @pytest.mark.timeout(0.2)
        def test_late():
            import time
            time.sleep(60)
        def test_last(): pass
    """)
    lines = inner.runpytest_subprocess(*workers).stdout.lines
    first = lines.index(
        "FAILED test_failure_is_printed_when_it_happens.py::test_first (call) - AssertionError: one is not two"
    )
    late = next(number for number, line in enumerate(lines) if "::test_late (call) - Failed: Timeout" in line)
    assert first < late < next(number for number, line in enumerate(lines) if "= FAILURES =" in line)


@pytest.mark.e2e
def test_child_process_does_not_outlive_the_test_that_started_it(inner: pytest.Pytester) -> None:
    inner.makepyfile("""
        import pytest
        from tests.processes import LIVE, Child
        pytestmark = pytest.mark.e2e
        def test_leaves_one(tmp_path): Child(["sleep", "600"], tmp_path / "output")
        def test_none_is_left(): assert not LIVE
    """)
    inner.runpytest_subprocess().assert_outcomes(passed=2)


@pytest.mark.e2e
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="members of a session are found in /proc")
def test_process_in_a_group_of_its_own_is_killed_with_its_parent(tmp_path: Path) -> None:
    script = "print('started', subprocess.Popen(['sleep', '600'], process_group=0).pid, flush=True); signal.pause()"
    with Child([sys.executable, "-c", f"import signal, subprocess; {script}"], tmp_path / "output") as parent:
        pid = int(parent.wait_for("started").split()[1])
    eventually(lambda: not is_running(pid))


@pytest.mark.e2e
def test_test_that_its_timeout_cannot_end_ends_its_process(inner: pytest.Pytester) -> None:
    """The other tests still run: xdist starts another worker."""
    inner.makepyfile("""
        import pytest, signal, tests.layers
        tests.layers.GRACE = 0.5
        @pytest.mark.timeout(0.5)
        def test_hangs():
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
            signal.pause()
        def test_other(): pass
    """)
    done = inner.runpytest_subprocess("-n", "1", timeout=50)
    done.assert_outcomes(passed=1, failed=1)
    done.stdout.fnmatch_lines(["*crashed while running*test_hangs*"])
