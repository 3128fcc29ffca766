"""Controller that checks the types of validating admission policies' expressions."""

from typing import ClassVar

from clientgo_apiserver.admission.matching import VALIDATING_POLICIES
from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.cluster.base import InternalController
from clientgo_apiserver.storage.stored import Key

MANAGER = "validatingadmissionpolicy-status"
"""Field manager of the status."""


class PolicyCheckController(InternalController):
    """Writes warnings about each new generation of a policy; what the policy does is the same with and without."""

    _sources: ClassVar[tuple[Key, ...]] = (VALIDATING_POLICIES,)

    def _changed(self, kind: str, key: Key, old: Object | None, new: Object | None) -> None:
        if new is not None and (new.get("status") or {}).get("observedGeneration") != new["metadata"]["generation"]:
            self._schedule(new["metadata"]["name"])

    def _sync(self, *names: str) -> None:
        (name,) = names
        policy = self._store.get(VALIDATING_POLICIES, "", name)
        if policy is None:
            return
        # Imported here, 20 ms with the compiler of expressions: few servers have policies.
        from clientgo_apiserver.admission.policytypes import expression_warnings  # noqa: PLC0415

        warnings = list(expression_warnings(self._state.registry, policy["spec"]))
        checked: Object = {"expressionWarnings": warnings} if warnings else {}
        status = {"observedGeneration": policy["metadata"]["generation"], "typeChecking": checked}
        self._write_status(VALIDATING_POLICIES, policy, status, kind="apply")
