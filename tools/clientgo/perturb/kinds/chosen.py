"""Random values, such as passwords: what differs between two runs anyway, and has to stay once it is chosen."""

from collections.abc import Iterator
from typing import Any

from clientgo.perturb.compare import Masks, normalized
from clientgo.perturb.differences import MaskedValue, StateDifference, state_differences, time_of
from clientgo.perturb.kinds.order import is_record
from clientgo.perturb.state import ClusterState


def chosen_anew(before: ClusterState, after: ClusterState, masks: Masks) -> Iterator[StateDifference]:
    """Yield the random values that are other ones in a later state of a run; records may be."""
    states = normalized(before, masks), normalized(after, masks)
    for each in state_differences(*states, _is_chosen_anew, masks.paths()):
        if each.path and not is_record(each.path):
            yield each


def _is_chosen_anew(before: Any, after: Any) -> bool:
    are_masked = isinstance(before, MaskedValue) and isinstance(after, MaskedValue)
    return are_masked and before.value != after.value and time_of(before.value) is None
