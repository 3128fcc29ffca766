"""Steps of a request that may take long: the event loop answers other clients meanwhile.

A step is a call that depends on its arguments alone and changes nothing but the request. One with much to read runs in
a thread, and so does one whose expressions turn out to be long: it begins on the event loop, because most end at once,
and begins again in a thread once the request has used its budget there.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import ParamSpec, TypeVar

from clientgo.internal.calloutcome import CallOutcome
from clientgo.internal.collector import without_collection
from clientgo_apiserver.api.limits import LOOP_BYTES, AllowanceUsed
from clientgo_apiserver.http.messages import HTTPRequest
from clientgo_apiserver.releases.release import current

P = ParamSpec("P")
R = TypeVar("R")


def is_long(request: HTTPRequest, size: int) -> bool:
    """Return whether a step that has `size` bytes to read, besides the request's body, runs in a thread."""
    return request.served and (size >= LOOP_BYTES or len(request.body) >= LOOP_BYTES)


async def run_step(request: HTTPRequest, size: int, function: Callable[P, R], *args: P.args, **options: P.kwargs) -> R:
    """Return the result of a step that has `size` bytes to read, besides the request's body."""
    if not request.served or not is_long(request, size):
        return function(*args, **options)
    return await in_thread(without_collection()(function), *args, **options)


async def run_rules(request: HTTPRequest, size: int, function: Callable[P, R], *args: P.args, **options: P.kwargs) -> R:
    """Return the result of a step that evaluates expressions, and has `size` bytes to read."""
    if request.served and not is_long(request, size) and request.budget.loop_cost > 0:
        warnings = len(request.warnings)
        try:
            return request.budget.evaluate_on_loop(function, *args, **options)
        except AllowanceUsed:
            del request.warnings[warnings:]
    if request.served:
        return await in_thread(without_collection()(function), *args, **options)
    return function(*args, **options)


async def in_thread(function: Callable[P, R], *args: P.args, **options: P.kwargs) -> R:
    """Return the result of a call in a thread, or raise its exception.

    `asyncio.to_thread` alone would wait for ever for a function that raises StopIteration.
    """
    call = partial(current().run, partial(function, *args, **options))
    return (await asyncio.to_thread(CallOutcome.of, call)).get()


async def let_others_run(request: HTTPRequest) -> None:
    """Let the event loop answer other clients in the middle of a request that does many things."""
    if request.served:
        await asyncio.sleep(0)
