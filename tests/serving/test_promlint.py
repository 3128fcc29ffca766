"""Self-test of the metrics lint."""

import pytest

from tests.serving.promlint import problems

GOOD = """\
# HELP work_seconds Work
# TYPE work_seconds histogram
work_seconds_bucket{name="a",le="1.0"} 1.0
work_seconds_bucket{name="a",le="+Inf"} 2.0
work_seconds_count{name="a"} 2.0
work_seconds_sum{name="a"} 3.0
# HELP things_total Things
# TYPE things_total counter
things_total{kind="x"} 1.0
# HELP level Level
# TYPE level gauge
level 1.0
"""


def test_good_scrape_has_no_problem() -> None:
    assert problems(GOOD) == []


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("# HELP level Level\n", "", "level: no help"),
        ("# HELP level Level\n", "# HELP level \n", "level: no help"),
        ("# TYPE level gauge\n", "", "level: no type"),
        ("level 1.0\n", "level 1.0\nlevel 2.0\n", "duplicate series: level"),
        ("level 1.0\n", "level{a=1} 1.0\n", None),
        ("level 1.0\n", "level 1.0", "the last line is not ended"),
        ("# TYPE level gauge\n", "# TYPE level gauge\n# TYPE level gauge\n", "level: TYPE is there 2 times"),
        ("level 1.0", 'level{le="1"} 1.0', "level: only a histogram has the label 'le'"),
        ("level 1.0", 'level{quantile="1"} 1.0', "level: only a summary has the label 'quantile'"),
        ("level 1.0", 'level{camelCase="1"} 1.0', "level: the label 'camelCase' is not in snake_case"),
        ("level", "levelOf", "levelOf: the name is not in snake_case"),
        ("level", "level_gauge", "level_gauge: the name has its type 'gauge' in it"),
        ("level", "level_ms", "level_ms: the unit 'ms' is not a base unit"),
        ("level", "level_total", "level_total: only a counter's name ends in _total"),
        ("level", "level_count", "level_count: the ending is a histogram's"),
        ("things_total", "things", "things: a counter's name ends in _total"),
        ('le="+Inf"} 2.0', 'le="+Inf"} 3.0', "work_seconds: the bucket +Inf is not the count"),
        ('le="1.0"} 1.0', 'le="1.0"} 3.0', "work_seconds: buckets do not add up"),
        (',le="1.0"', "", "work_seconds: a bucket without 'le'"),
    ],
)
def test_each_fault_is_found(old: str, new: str, problem: str | None) -> None:
    assert old in GOOD
    if problem is None:
        with pytest.raises(ValueError, match=r"."):
            problems(GOOD.replace(old, new))
    else:
        assert problem in problems(GOOD.replace(old, new))
