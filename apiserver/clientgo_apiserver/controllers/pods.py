"""Simulation of the kubelets' part in the deletion of pods: pods on a node end after a moment."""

from functools import partial

from clientgo_apiserver.admission.quota import PODS
from clientgo_apiserver.controllers.base import InternalController
from clientgo_apiserver.internal import Internal
from clientgo_apiserver.resources import Object
from clientgo_apiserver.storage.stored import Key, name_of


class PodTerminationSimulation(InternalController):
    """Confirms the deletion of pods `ready_seconds` after it was requested, however long their grace period is."""

    _sources = (PODS,)

    def __init__(self, internal: Internal, *, ready_seconds: float) -> None:
        super().__init__(internal)
        self._ready_seconds = ready_seconds

    def _changed(self, kind: str, key: Key, old: Object | None, new: Object | None) -> None:
        if key == PODS and new is not None and new["metadata"].get("deletionGracePeriodSeconds"):
            self._later(self._ready_seconds, self._confirm, *name_of(new), new["metadata"]["uid"])

    def _confirm(self, namespace: str, name: str, uid: str) -> None:
        confirm = partial(self._internal.delete, PODS, namespace, name, uid=uid, grace=0)
        self._attempt("end the pod", (namespace, name), confirm)
