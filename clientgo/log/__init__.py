"""Logging: formats, context fields and redaction of credentials on top of the standard `logging`.

    setup(level="info")
    with context(namespace="default", name="example-foo", kind="Foo", reconcile_id="3f2a"):
        logging.getLogger("mine").info("synced", extra={"replicas": 3})

A program calls `setup` once. The values in `extra` and of the enclosing `context` are printed with the message: for
people on a terminal, otherwise in klog's format or as JSON. The library logs through `get_logger("clientgo...")`, whose
messages contain these values also in programs that do not call `setup`.

Two guarantees hold for every line. It is one line without control characters, so no value can forge another line. And
it contains no credential that can be recognised: by `register_secret`, by its format, or by its name. This is the last
line of defence; the library itself logs no credentials.
"""

from typing import TYPE_CHECKING

from clientgo.internal.exports import on_demand

if TYPE_CHECKING:
    from clientgo.log.choices import FORMATS, LEVELS
    from clientgo.log.config import current_level, level_of, set_level, setup, verbosity
    from clientgo.log.credentials import REDACTED, redact, register_secret
    from clientgo.log.fields import context
    from clientgo.log.formats import HumanFormatter, JSONFormatter, TextFormatter
    from clientgo.log.logger import Logger, get_logger
    from clientgo.log.repeats import Repeats
else:
    __getattr__ = on_demand(
        __name__,
        {
            "choices": "FORMATS LEVELS",
            "config": "current_level level_of set_level setup verbosity",
            "credentials": "REDACTED redact register_secret",
            "fields": "context",
            "formats": "HumanFormatter JSONFormatter TextFormatter",
            "logger": "Logger get_logger",
            "repeats": "Repeats",
        },
    )

__all__ = [
    "setup", "set_level", "current_level", "level_of", "verbosity", "context", "Repeats",
    "register_secret", "redact", "REDACTED", "TextFormatter", "JSONFormatter", "HumanFormatter", "FORMATS", "LEVELS",
    "get_logger", "Logger",
]  # fmt: skip
