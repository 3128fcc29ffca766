"""Contents of every namespace of a cluster: the ServiceAccount `default` and the ConfigMap `kube-root-ca.crt`."""

from functools import partial

from clientgo_apiserver.admission.namespaces import KEY as NAMESPACES
from clientgo_apiserver.controllers.base import InternalController, is_deleting
from clientgo_apiserver.resources import Object
from clientgo_apiserver.storage.stored import Key

_ACCOUNTS: Key = ("", "serviceaccounts")
_CONFIG_MAPS: Key = ("", "configmaps")
_ROOT_CA = "kube-root-ca.crt"
_CONTENTS = {_ACCOUNTS: "default", _CONFIG_MAPS: _ROOT_CA}


class NamespaceContents(InternalController):
    """Creates the contents of each namespace, and again when they are deleted."""

    _sources = (NAMESPACES,)

    def _changed(self, kind: str, key: Key, old: Object | None, new: Object | None) -> None:
        if key == NAMESPACES and old is None and new is not None:
            self._schedule(new["metadata"]["name"])
        elif key in _CONTENTS and new is None and old is not None and old["metadata"]["name"] == _CONTENTS[key]:
            self._schedule(old["metadata"]["namespace"])

    def _sync(self, *names: str) -> None:
        (namespace,) = names
        stored = self._store.get(NAMESPACES, "", namespace)
        if stored is None or is_deleting(stored):
            return
        for key, name in _CONTENTS.items():
            if self._store.get(key, namespace, name) is None:
                self._attempt("create", (namespace, name), partial(self._create, key, namespace))

    def _create(self, key: Key, namespace: str) -> None:
        meta: Object = {"name": _CONTENTS[key], "namespace": namespace}
        obj: Object = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta}
        if key == _CONFIG_MAPS:
            described = {"kubernetes.io/description": "Certificate that verifies connections to the API server."}
            obj = {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {**meta, "annotations": described},
                "data": {"ca.crt": self._state.options.root_ca},
            }
        self._internal.create(key, namespace, obj)
