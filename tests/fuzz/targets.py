"""All fuzz targets by name."""

from tests.fuzz import filefuzz, hostilefuzz, serverfuzz, textfuzz, wirefuzz
from tests.fuzz.engine import Target

TARGETS: dict[str, Target] = {
    target.name: target
    for module in (textfuzz, wirefuzz, hostilefuzz, filefuzz, serverfuzz)
    for target in module.TARGETS
}
