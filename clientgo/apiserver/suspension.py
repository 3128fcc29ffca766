"""Requests that need an answer from elsewhere (a webhook's) while they are handled, without anybody waiting for them.

Handlers run on the server's loop and never wait. One that needs something raises `Paused` with its questions; they are
asked in threads, their outcomes are kept, and the handler runs again from the start, where it finds them. So a handler
must have done nothing before it pauses, and decide anew from what is stored by then: an object that has changed
meanwhile is asked about again, as a real server does when it has to retry an update.

Coroutines all the way down were rejected: every read that may have to convert would be one, for the few that do.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

_MOST_AT_ONCE = 64


@dataclass(frozen=True, slots=True)
class Question:
    """`ask` finds the outcome, may take its time, and raises nothing; `keep` puts it where the handler looks."""

    ask: Callable[[], Any]
    keep: Callable[[Any], object]


class Paused(Exception):
    """The handler cannot go on before these questions are answered."""

    def __init__(self, questions: Sequence[Question]) -> None:
        super().__init__(f"{len(questions)} questions are open")
        self.questions = questions


@dataclass(frozen=True, slots=True)
class Suspended:
    """A request under way: once its questions' outcomes are kept, `resume` goes on, to its answer or to others."""

    questions: Sequence[Question]
    resume: Callable[[], Any]

    def wait(self) -> Any:
        """Ask here and now, one after the other, and go on."""
        for question in self.questions:
            question.keep(question.ask())
        return self.resume()


class Carrier:
    """Asks questions in threads of its own, so that a webhook that hangs holds up those alone who ask webhooks."""

    def __init__(self) -> None:
        self._threads: ThreadPoolExecutor | None = None

    def __repr__(self) -> str:
        return f"<Carrier {'in use' if self._threads else 'idle'}>"

    async def settled(self, answer: Any) -> Any:
        """The answer, once every question on the way to it is answered."""
        while isinstance(answer, Suspended):
            await self.ask(answer.questions)
            answer = answer.resume()
        return answer

    async def ask(self, questions: Iterable[Question]) -> None:
        """Ask all of them at once, and keep what comes of it."""
        if self._threads is None:
            self._threads = ThreadPoolExecutor(_MOST_AT_ONCE, thread_name_prefix="webhook")
        loop = asyncio.get_running_loop()
        asked = list(questions)
        outcomes = await asyncio.gather(*(loop.run_in_executor(self._threads, question.ask) for question in asked))
        for question, outcome in zip(asked, outcomes, strict=True):
            question.keep(outcome)

    def close(self) -> None:
        """Ask nothing more; who waits for an answer is no longer told."""
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)
