"""Columns of text for people: what `kubectl get` prints, with the width that the longest value needs."""

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Left-aligned columns below their names, three blanks apart; each value on one line, whatever is in it."""
    lines = [list(head), *([_cell(value) for value in row] for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    return "".join(
        "   ".join(value.ljust(width) for value, width in zip(line, widths, strict=True)).rstrip() + "\n"
        for line in lines
    )


def _cell(value: object) -> str:
    if value is None or value == "":
        return "-"
    text = f"{value:.1f}" if isinstance(value, float) else str(value)
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)
