"""How much is logged: names, or klog's numbers, changeable while the program runs."""

import logging

LEVELS = ("debug", "info", "warning", "error")

DEBUG_FROM = 4
"""The verbosity that Kubernetes' logging conventions call debug; below it, `info` is what an operator wants to see."""


def verbosity(number: int) -> str:
    """The level that shows what `-v number` would: `info` from 0, `debug` from 4 on; `ValueError` below 0."""
    if number < 0:
        raise ValueError(f"unknown log verbosity {number}: use 0 or more, {DEBUG_FROM} for debug")
    return "debug" if number >= DEBUG_FROM else "info"


def level_of(given: str | int) -> str:
    """The level's name for a name, a verbosity, or a verbosity as text; `ValueError` for anything else."""
    if isinstance(given, int):
        return verbosity(given)
    name = given.strip().lower()
    if name.isascii() and name.isdigit():
        return verbosity(int(name[:9]))
    if name not in LEVELS:
        raise ValueError(f"unknown log level {given!r}: use one of {', '.join(LEVELS)}, or a number as in -v 4")
    return name


def set_level(level: str | int, *, logger: str = "") -> None:
    """Log from this level (or klog's verbosity) on from now on; `logger` narrows that to loggers named so or below.

    Raises:
        ValueError: no such level; nothing is changed.
    """
    logging.getLogger(logger or None).setLevel(level_of(level).upper())


def current_level(*, logger: str = "") -> str:
    """The name of the level from which that logger's lines are shown; of all loggers without one of their own."""
    return logging.getLevelName(logging.getLogger(logger or None).getEffectiveLevel()).lower()
