"""Binder of volumes and claims: what it remembers of them ends with them; the states are life cycles."""

from apiserver.tests.inprocess import MERGE, Kube
from clientgo_apiserver.cluster.internal import Internal
from clientgo_apiserver.cluster.volumes import VolumeBinder

CLAIMS, VOLUMES = "/api/v1/namespaces/default/persistentvolumeclaims", "/api/v1/persistentvolumes"
MODES = {"accessModes": ["ReadWriteOnce"]}
BARE = {"metadata": {"finalizers": None}}


def test_binder_remembers_nothing_of_what_is_deleted(kube: Kube) -> None:
    binder = VolumeBinder(Internal(kube.api))
    binder.start()
    volume = {**MODES, "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/data"}}
    claim = {**MODES, "resources": {"requests": {"storage": "1Gi"}}}
    kube.ok("POST", VOLUMES, {"metadata": {"name": "v"}, "spec": volume})
    for name in ("bound", "waiting"):
        kube.ok("POST", CLAIMS, {"metadata": {"name": name}, "spec": claim})
    assert kube.ok("GET", f"{CLAIMS}/bound")["status"]["phase"] == "Bound"
    assert binder._bound
    assert binder._waiting
    assert binder._reserved
    for path in (f"{CLAIMS}/bound", f"{CLAIMS}/waiting", f"{VOLUMES}/v"):
        kube.ok("PATCH", path, BARE, MERGE)
        kube.ok("DELETE", path)
    assert not (binder._bound)
    assert not (binder._waiting)
    assert not (binder._reserved)
    assert not (binder._available)
