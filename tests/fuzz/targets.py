"""All fuzz targets by name."""

from tests.fuzz import filefuzz, serverfuzz, textfuzz, wirefuzz
from tests.fuzz.engine import Target

TARGETS: dict[str, Target] = {
    target.name: target for target in (*textfuzz.TARGETS, *wirefuzz.TARGETS, *filefuzz.TARGETS, *serverfuzz.TARGETS)
}
