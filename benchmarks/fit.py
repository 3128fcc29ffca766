"""Growth of cost with size: exponent of a power law fitted to measurements."""

import math
from collections.abc import Mapping


def exponent(points: Mapping[int, float]) -> float:
    """Return the slope of log(cost) over log(size) by least squares: 1 is proportional, 2 quadratic.

    Raises:
        ValueError: fewer than two sizes, or a size or cost that is not positive.
    """
    if len(points) < 2:
        raise ValueError("a slope takes two points")
    if min(points) <= 0 or min(points.values()) <= 0:
        raise ValueError("sizes and costs must be positive")
    xs, ys = [math.log(size) for size in points], [math.log(cost) for cost in points.values()]
    x0, y0 = sum(xs) / len(xs), sum(ys) / len(ys)
    return sum((x - x0) * (y - y0) for x, y in zip(xs, ys, strict=True)) / sum((x - x0) ** 2 for x in xs)
