"""UUIDs to tell things apart by, which nobody has to be kept from guessing."""

import random


def random_uuid() -> str:
    """A random UUID (version 4) as text.

    Not `uuid.uuid4`: that asks the system for each, which lets go of the interpreter, and its module loads what tells
    systems apart.
    """
    digits = f"{random.getrandbits(128):032x}"  # nosec B311
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-a{digits[17:20]}-{digits[20:]}"
