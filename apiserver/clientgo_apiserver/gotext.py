"""Numbers in the text forms of Go, which messages, tables and CEL share."""


def go_float(value: float) -> str:
    """Format a float like Go's %v: shortest digits, with an exponent for large and small values."""
    if value == int(value) and abs(value) < 1e6:
        return str(int(value))
    if 1e-4 <= abs(value) < 1e6:
        return repr(value)
    return next(text for text in (f"{value:.{digits}e}" for digits in range(18)) if float(text) == value)


QUANTITY_ERRORS = {
    "form": "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    "number": "unable to parse numeric part of quantity",
    "suffix": "unable to parse quantity's suffix",
}
"""Messages of the parser of quantities, by the invalid part."""
