"""The plural an English speaker would give a kind's name."""

_IRREGULAR = {"endpoints": "endpoints"}


def plural_of(singular: str) -> str:
    """`policy` → `policies`, `ingress` → `ingresses`, `foo` → `foos`; other kinds name theirs."""
    if singular in _IRREGULAR:
        return _IRREGULAR[singular]
    if singular.endswith("y") and singular[-2:-1] not in "aeiou":
        return singular[:-1] + "ies"
    if singular.endswith(("s", "x", "z", "ch", "sh")):
        return singular + "es"
    return singular + "s"
