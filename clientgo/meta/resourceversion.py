"""Comparison of resourceVersions, which is valid only within one resource (KEP-5504)."""


def compare_resource_versions(a: str, b: str) -> int:
    """Return -1, 0 or 1 if `a` is older than, equal to, or newer than `b`.

    Raises:
        ValueError: one of them is not a positive decimal number without leading zeros.
    """
    for version in (a, b):
        if not (version.isascii() and version.isdigit()) or version[0] == "0":
            raise ValueError(f"resourceVersion {version!r} is not a positive decimal number")
    if len(a) != len(b):
        return -1 if len(a) < len(b) else 1
    return (a > b) - (a < b)


def at_least(seen: str, wanted: str) -> bool:
    """Report whether `seen` is `wanted` or newer; False if they cannot be compared."""
    try:
        return compare_resource_versions(seen, wanted) >= 0
    except ValueError:
        return False
