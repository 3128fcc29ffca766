"""Lint of one scrape: the rules of `promtool check metrics`, and errors that Prometheus itself rejects."""

import re
from collections import Counter
from collections.abc import Iterator

from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families

_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
_LINE = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*(\{[^}]*\})? \S+( \d+)?")
# No type in a name, no unit but the base ones, and those spelt out.
_TYPES = {"counter", "gauge", "histogram", "summary", "untyped", "unknown"}
_UNITS = {
    "ms", "milliseconds", "us", "microseconds", "ns", "nanoseconds", "minutes", "hours", "days", "sec", "secs", "s",
    "kb", "mb", "gb", "kilobytes", "megabytes", "gigabytes", "bits", "percent", "percentage", "celcius", "fahrenheit",
}  # fmt: skip
_PARTS = {"histogram": ("_bucket", "_sum", "_count"), "summary": ("", "_sum", "_count"), "counter": ("_total",)}


def problems(text: str) -> list[str]:
    """Return the problems of an exposition in text format."""
    families = list(text_string_to_metric_families(text))
    matches = [*_lines(text), *_declarations(text)]
    for family in families:
        matches += [f"{family.name}: {problem}" for problem in _family(family)]
    return matches


def _lines(text: str) -> Iterator[str]:
    if not text.endswith("\n"):
        yield "the last line is not ended"
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    yield from (f"not a sample: {line}" for line in lines if not _LINE.fullmatch(line))
    series = Counter(line.rsplit(" ", 1)[0] for line in lines)
    yield from (f"duplicate series: {name}" for name, times in series.items() if times > 1)


def _declarations(text: str) -> Iterator[str]:
    for word in ("HELP", "TYPE"):
        names = Counter(re.findall(rf"^# {word} (\S+) \S", text, re.MULTILINE))
        yield from (f"{name}: {word} is there {times} times" for name, times in names.items() if times > 1)
    for name, kind in re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE):
        if not re.search(rf"^# HELP {re.escape(name)} \S", text, re.MULTILINE):
            yield f"{name}: no help"
        if kind == "counter" and not name.endswith("_total"):
            yield f"{name}: a counter's name ends in _total"


def _family(family: Metric) -> Iterator[str]:
    if family.type == "unknown":
        yield "no type"
    if not _NAME.fullmatch(family.name):
        yield "the name is not in snake_case"
    words = set(family.name.split("_"))
    yield from (f"the name has its type {word!r} in it" for word in sorted(words & _TYPES))
    yield from (f"the unit {word!r} is not a base unit" for word in sorted(words & _UNITS))
    if family.type != "counter" and family.name.endswith("_total"):
        yield "only a counter's name ends in _total"
    if family.type not in ("histogram", "summary") and family.name.endswith(("_bucket", "_sum", "_count")):
        yield "the ending is a histogram's"
    allowed = {family.name + part for part in _PARTS.get(family.type, ("",))}
    yield from sorted(
        {f"{sample.name} does not belong to it" for sample in family.samples if sample.name not in allowed}
    )
    yield from _labels(family)
    if family.type == "histogram":
        yield from _buckets(family)


def _labels(family: Metric) -> Iterator[str]:
    for name in sorted({name for sample in family.samples for name in sample.labels}):
        if not _NAME.fullmatch(name):
            yield f"the label {name!r} is not in snake_case"
        if name == "le" and family.type != "histogram":
            yield "only a histogram has the label 'le'"
        if name == "quantile" and family.type != "summary":
            yield "only a summary has the label 'quantile'"


def _buckets(family: Metric) -> Iterator[str]:
    counts: dict[tuple[tuple[str, str], ...], dict[float, float]] = {}
    totals: dict[tuple[tuple[str, str], ...], float] = {}
    for sample in family.samples:
        labels = tuple(sorted((name, value) for name, value in sample.labels.items() if name != "le"))
        if sample.name.endswith("_bucket") and "le" in sample.labels:
            counts.setdefault(labels, {})[float(sample.labels["le"])] = sample.value
        elif sample.name.endswith("_bucket"):
            yield "a bucket without 'le'"
        elif sample.name.endswith("_count"):
            totals[labels] = sample.value
    for labels in counts.keys() | totals.keys():
        buckets = counts.get(labels, {})
        ordered = [buckets[bound] for bound in sorted(buckets)]
        if ordered != sorted(ordered):
            yield "buckets do not add up"
        if buckets.get(float("inf")) != totals.get(labels):
            yield "the bucket +Inf is not the count"
