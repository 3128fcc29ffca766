"""Loggers of the library: a constant message, and the facts in `extra` with it for every handler.

Every module of the library has a logger, so this one imports little until a message is formatted.
"""

import logging
from collections.abc import Mapping, MutableMapping
from typing import Any

from clientgo.internal.callbacks import callback_failure
from clientgo.log.credentials import redact
from clientgo.log.facts import describe, facts_of
from clientgo.log.fields import Chain, current_chain, fields_in
from clientgo.log.values import truncate

RESERVED = frozenset({"asctime", "message", *vars(logging.makeLogRecord({}))})
"""Attributes of log records, which `extra` cannot set; `name_` is printed as `name`."""


class LogMessage(str):
    """Constant message of a log record; `str` adds its facts, for handlers that format it themselves."""

    __slots__ = ("_blocks", "_extra")
    _blocks: Chain | None
    _extra: Mapping[str, Any]

    @classmethod
    def of(cls, plain: str, blocks: Chain | None, extra: Mapping[str, Any]) -> "LogMessage":
        """Return the message with the fields of the enclosing blocks and its own."""
        message = cls(plain)
        message._blocks, message._extra = blocks, extra
        return message

    def plain(self) -> str:
        """Return the message without its facts."""
        return str.__str__(self)

    def __str__(self) -> str:
        facts = {**fields_in(self._blocks), **self._extra}
        return describe(truncate(self.plain(), redact), facts_of(facts, redact))


class Logger(logging.LoggerAdapter[logging.Logger]):
    """Logger for messages without arguments, whose facts are in `extra`.

    A handler or filter of the program that raises loses the line and does not affect the thread that logs it.
    """

    def log(self, level: int, msg: object, *args: object, **kwargs: Any) -> None:
        """Log the message with this level."""
        if self.isEnabledFor(level):
            # The frame of this method is not the caller's. Each further one would take 0.4 microseconds per line.
            kwargs["stacklevel"] = kwargs.get("stacklevel", 1) + 1
            try:
                message, settings = self.process(msg, kwargs)
                self.logger.log(level, message, *args, **settings)
            except BaseException as error:  # noqa: BLE001
                callback_failure(error)  # nothing can be reported here: the log is what fails

    def process(self, msg: Any, kwargs: MutableMapping[str, Any]) -> tuple[LogMessage, MutableMapping[str, Any]]:
        """Return a message with the facts of `extra` and of the context."""
        # Not merged here: the library's formatters, which print the fields themselves, would have them merged twice.
        extra = kwargs.get("extra") or {}
        if not RESERVED.isdisjoint(extra):
            # `logging` would raise, and the line would be lost.
            extra = kwargs["extra"] = {f"{key}_" if key in RESERVED else key: value for key, value in extra.items()}
        return LogMessage.of(msg, current_chain(), extra), kwargs


def get_logger(name: str) -> Logger:
    """Return the logger of that name, for messages that tell their facts with every handler."""
    return Logger(logging.getLogger(name))
