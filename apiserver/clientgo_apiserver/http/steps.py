"""Steps of a request that may take long: the event loop answers other clients meanwhile.

A step is a call that depends on its arguments alone and changes nothing but the request. One with much to read runs in
a thread, and so does one whose expressions turn out to be long: it begins on the event loop, because most end at once,
and begins again in a thread once it has used its allowance.
"""

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from clientgo.meta.codec import without_collection
from clientgo_apiserver.cel.allowance import AllowanceUsed, evaluate_within
from clientgo_apiserver.http.messages import HTTPRequest

P = ParamSpec("P")
R = TypeVar("R")

LARGE = 16 * 1024
"""Bytes of a body, or of a stored object, whose steps run in threads: about five milliseconds of decoding."""

ALLOWANCE = 4_000
"""Cost of CEL's loops that a step may use on the event loop: about five milliseconds."""


async def run_step(request: HTTPRequest, size: int, function: Callable[P, R], *args: P.args, **options: P.kwargs) -> R:
    """Return the result of a step that has `size` bytes to read, besides the request's body."""
    if not request.served or (size < LARGE and len(request.body) < LARGE):
        return function(*args, **options)
    return await asyncio.to_thread(without_collection()(function), *args, **options)


async def run_rules(request: HTTPRequest, size: int, function: Callable[P, R], *args: P.args, **options: P.kwargs) -> R:
    """Return the result of a step that evaluates expressions, and has `size` bytes to read."""
    if request.served and size < LARGE and len(request.body) < LARGE:
        warnings = len(request.warnings)
        try:
            return evaluate_within(ALLOWANCE, function, *args, **options)
        except AllowanceUsed:
            del request.warnings[warnings:]
        return await asyncio.to_thread(function, *args, **options)
    return await run_step(request, size, function, *args, **options)


async def let_others_run(request: HTTPRequest) -> None:
    """Let the event loop answer other clients in the middle of a request that does many things."""
    if request.served:
        await asyncio.sleep(0)
