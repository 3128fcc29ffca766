"""How log lines look, what they carry, and what never stands in one.

    setup(level="info", style="text")
    with context(namespace="default", name="example-foo", kind="Foo", reconcile_id="3f2a"):
        logging.getLogger("mine").info("synced", extra={"replicas": 3})

Library code logs through the standard `logging` with `extra={...}`; whatever stands in `extra`, or in a `context`
around the call, is printed behind the message, as text in klog's shape or as JSON. A program calls `setup` once.
Loggers named below `clientgo` belong to the library.

Two promises hold for every line, whatever is logged. It is one line, and does nothing to a terminal: no value can forge
a second one. And it shows no credential that can be recognised, by what was told to `conceal`, by its shape, or by its
name. This is the last line of defence, not the first: nothing of ours logs a credential in the first place.
"""

from clientgo.log.credentials import REDACTED, conceal, redact
from clientgo.log.fields import context
from clientgo.log.formats import FORMATS, JSONFormatter, TextFormatter
from clientgo.log.levels import LEVELS, current_level, level_of, set_level, verbosity
from clientgo.log.output import setup
from clientgo.log.repeats import Repeats

__all__ = [
    "setup", "set_level", "current_level", "level_of", "verbosity", "context", "Repeats",
    "conceal", "redact", "REDACTED", "TextFormatter", "JSONFormatter", "FORMATS", "LEVELS",
]  # fmt: skip
