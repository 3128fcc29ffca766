"""The admission chain: built-in plugins, policies and webhooks in the order of kube-apiserver.

`mutate` may change the object that is written, and `validate` may reject it; in between it is validated by its kind.
"""

from clientgo_apiserver.admission import webhooks
from clientgo_apiserver.admission.matching import MUTATING_POLICIES, VALIDATING_POLICIES
from clientgo_apiserver.admission.plugins import check_policies
from clientgo_apiserver.admission.quota import check_quota
from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.registry.write import Write
from clientgo_apiserver.state import State
from clientgo_apiserver.storage.stored import Key

ADMISSION: tuple[Key, ...] = (MUTATING_POLICIES, VALIDATING_POLICIES, webhooks.MUTATING, webhooks.VALIDATING)
"""What may change or reject writes."""


def may_mutate(state: State) -> bool:
    """Return whether there are policies or webhooks that may change objects."""
    return state.store.count(MUTATING_POLICIES) > 0 or state.store.count(webhooks.MUTATING) > 0


async def mutate(state: State, write: Write, operation: str, new: Object | None, old: Object | None) -> Object | None:
    """Return the object as policies and then webhooks change it, as it comes from them."""
    if state.store.count(MUTATING_POLICIES):
        # Imported where they are used: CEL takes longer to load than a tenth of a server's start.
        from clientgo_apiserver.admission import policies  # noqa: PLC0415

        new = await policies.mutate(state, write, (operation, new, old))
    if webhooks.may_be_called(state, write, webhooks.MUTATING):
        new = await webhooks.mutate(state, write, operation, new, old)
    return new


async def validate(state: State, write: Write, operation: str, new: Object, old: Object | None) -> None:
    """Run validating admission for an object that is about to be stored (4xx, 500)."""
    check_policies(state, write, new, old)
    if state.store.count(VALIDATING_POLICIES) or state.store.count(webhooks.VALIDATING):
        await _validate(state, write, operation, new, old)
    check_quota(state, write, new, old)


async def admit_review(state: State, write: Write, obj: Object) -> Object:
    """Return a review as webhooks change it, if they see reviews; policies never do (4xx, 500)."""
    if webhooks.may_be_called(state, write, webhooks.MUTATING):
        obj = await webhooks.mutate(state, write, "CREATE", obj, None) or obj
    if webhooks.may_be_called(state, write, webhooks.VALIDATING):
        await webhooks.validate(state, write, "CREATE", obj, None)
    return obj


async def admit_deletion(state: State, write: Write, old: Object) -> None:
    """Run mutating and validating admission for a deletion (4xx, 500)."""
    await mutate(state, write, "DELETE", None, old)
    await _validate(state, write, "DELETE", None, old)


async def _validate(state: State, write: Write, operation: str, new: Object | None, old: Object | None) -> None:
    if state.store.count(VALIDATING_POLICIES):
        from clientgo_apiserver.admission import policies  # noqa: PLC0415 (see above)

        await policies.validate(state, write, (operation, new, old))
    if webhooks.may_be_called(state, write, webhooks.VALIDATING):
        await webhooks.validate(state, write, operation, new, old)
