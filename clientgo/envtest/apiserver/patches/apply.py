"""Server-side apply in the server's words: `clientgo.meta.apply.serverside`, whose conflicts are a 409 here."""

from clientgo.envtest.apiserver.status import ApiFailure
from clientgo.meta.apply.fieldsets import Rules
from clientgo.meta.apply.managedfields import Manager
from clientgo.meta.apply.serverside import Applied, ApplyConflict, Object, merge
from clientgo.meta.apply.serverside import apply as apply_config

__all__ = ["Applied", "apply", "merge"]


def apply(live: Object, config: Object, who: Manager, rules: Rules, *, force: bool, time: str) -> Applied:
    """Merge `config` into `live` (empty when there is no object yet) for this manager.

    Raises:
        ApiFailure: 409, others manage fields that would change, and `force` is not set.
    """
    try:
        return apply_config(live, config, who, rules, force=force, time=time)
    except ApplyConflict as conflict:
        raise ApiFailure(409, "Conflict", str(conflict), details={"causes": conflict.causes}) from conflict
