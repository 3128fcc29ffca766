"""What an error's text has to be: one sentence for a person, whatever the input was."""

from tests.fuzz.engine import Bug


def sentence(error: BaseException, data: bytes, *kinds: type[BaseException]) -> str:
    """The error's text; raises `Bug` if it is of another kind than allowed, or its text is no sentence."""
    if not any(type(error) is kind for kind in kinds):
        raise Bug(f"{type(error).__name__} instead of {', '.join(kind.__name__ for kind in kinds)}") from error
    return check_text(str(error), data)


def check_text(text: str, data: bytes) -> str:
    """The text; raises `Bug` if it is empty, spans lines, shows Python's insides, or is out of proportion."""
    why = ""
    if not text.strip():
        why = "it says nothing"
    elif "\n" in text.strip() or "\r" in text:
        why = "it is more than one line"
    elif "Traceback" in text or " object at 0x" in text or "<class '" in text:
        why = "it shows Python's insides"
    elif len(text) > 12 * len(data) + 2000:
        why = f"{len(text)} characters for {len(data)} bytes"
    if why:
        raise Bug(f"no clear sentence ({why}): {text[:500]!r}")
    return text
