"""Random UUIDs, not for secrets. A module of its own, because it loads `random`."""

import random


def random_uuid() -> str:
    """Return a random UUID (version 4), not for secrets.

    `uuid.uuid4` asks the system for each, which releases the interpreter, and imports more.
    """
    digits = f"{random.getrandbits(128):032x}"  # nosec B311
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"
