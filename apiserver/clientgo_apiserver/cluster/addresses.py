"""Controller of the IPAddress objects that stand for the cluster IPs of Services."""

from typing import ClassVar

from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.cluster.base import InternalController
from clientgo_apiserver.storage.keys import SERVICES
from clientgo_apiserver.storage.stored import Key

ADDRESSES: Key = ("networking.k8s.io", "ipaddresses")
_FAMILY, _MANAGED = "ipaddress.kubernetes.io/ip-family", "ipaddress.kubernetes.io/managed-by"
_ALLOCATOR = "ipallocator.k8s.io"


class AddressController(InternalController):
    """Creates the object of each address that a Service has, and deletes it with the address."""

    _sources: ClassVar[tuple[Key, ...]] = (SERVICES,)

    def _changed(self, kind: str, key: Key, old: Object | None, new: Object | None) -> None:
        before, after = _addresses(old), _addresses(new)
        for service, addresses in ((old, before - after), (new, after - before)):
            for address in addresses:
                meta = (service or {})["metadata"]
                self._schedule(address, meta["namespace"], meta["name"])

    def _sync(self, *names: str) -> None:
        address, namespace, name = names
        is_used = address in _addresses(self._store.get(SERVICES, namespace, name))
        stored = self._store.get(ADDRESSES, "", address)
        if is_used and stored is None:
            labels = {_FAMILY: "IPv6" if ":" in address else "IPv4", _MANAGED: _ALLOCATOR}
            parent = {"group": "", "resource": "services", "namespace": namespace, "name": name}
            obj: Object = {"metadata": {"name": address, "labels": labels}, "spec": {"parentRef": parent}}
            self._attempt("create the address", ("", address), lambda: self._internal.create(ADDRESSES, "", obj))
        elif not is_used and stored is not None and stored["metadata"].get("labels", {}).get(_MANAGED) == _ALLOCATOR:
            self._attempt("delete the address", ("", address), lambda: self._internal.delete(ADDRESSES, "", address))


def _addresses(service: Object | None) -> set[str]:
    return set(((service or {}).get("spec") or {}).get("clusterIPs") or ()) - {"None"}
