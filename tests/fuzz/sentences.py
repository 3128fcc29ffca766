"""Requirements for error messages: one line for a person, for any input."""

from tests.fuzz.engine import Bug


def sentence(error: BaseException, data: bytes, *kinds: type[BaseException]) -> str:
    """Return an error's text; raise `Bug` if its type is not allowed or the text is invalid."""
    if not any(type(error) is kind for kind in kinds):
        raise Bug(f"{type(error).__name__} instead of {', '.join(kind.__name__ for kind in kinds)}") from error
    return check_text(str(error), data)


def check_text(text: str, data: bytes) -> str:
    """Return the text; raise `Bug` if it is empty, has several lines, shows Python's internals, or is too long."""
    reason = ""
    if not text.strip():
        reason = "it says nothing"
    elif "\n" in text.strip() or "\r" in text:
        reason = "it is more than one line"
    elif "Traceback" in text or " object at 0x" in text or "<class '" in text:
        reason = "it shows Python's insides"
    elif len(text) > 12 * len(data) + 2000:
        reason = f"{len(text)} characters for {len(data)} bytes"
    if reason:
        raise Bug(f"no clear sentence ({reason}): {text[:500]!r}")
    return text
