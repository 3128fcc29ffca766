"""Comparing resourceVersions, which is allowed within one resource type only (KEP-5504)."""


def compare_resource_versions(a: str, b: str) -> int:
    """-1, 0 or 1 as `a` is older than, the same as, or newer than `b`.

    Raises:
        ValueError: either is not a decimal number without leading zero ("" and "0" included).
    """
    for version in (a, b):
        if not (version.isascii() and version.isdigit()) or version[0] == "0":
            raise ValueError(f"resourceVersion {version!r} is not a positive decimal number")
    if len(a) != len(b):
        return -1 if len(a) < len(b) else 1
    return (a > b) - (a < b)


def at_least(seen: str, wanted: str) -> bool:
    """Whether `seen` is `wanted` or newer; two that cannot be compared count as not."""
    try:
        return compare_resource_versions(seen, wanted) >= 0
    except ValueError:
        return False
