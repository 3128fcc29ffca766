"""Protection of volume attributes classes: one that is in use stays until its users are gone."""

from apiserver.tests.inprocess import MERGE, PODS, Kube
from clientgo_apiserver.cluster.internal import Internal
from clientgo_apiserver.cluster.protection import VolumeProtectionSimulation

CLASSES = "/apis/storage.k8s.io/v1/volumeattributesclasses"
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
FINALIZER = "kubernetes.io/vac-protection"
CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}


def protected() -> Kube:
    kube = Kube()
    VolumeProtectionSimulation(Internal(kube.api)).start()
    created = kube.ok("POST", CLASSES, {"metadata": {"name": "fast"}, "driverName": "a.b", "parameters": {"iops": "9"}})
    assert created["metadata"]["finalizers"] == [FINALIZER]
    return kube


def test_class_that_nothing_uses_is_deleted() -> None:
    kube = protected()
    kube.ok("DELETE", f"{CLASSES}/fast")
    kube.refused(404, "GET", f"{CLASSES}/fast")


def test_class_that_a_claim_uses_stays_until_the_claim_uses_another_one() -> None:
    kube = protected()
    claim = {"metadata": {"name": "c"}, "spec": {**CLAIM, "volumeAttributesClassName": "fast"}}
    kube.ok("POST", CLAIMS, claim)
    kube.ok("DELETE", f"{CLASSES}/fast")
    assert kube.ok("GET", f"{CLASSES}/fast")["metadata"]["finalizers"] == [FINALIZER]
    kube.ok("PATCH", f"{CLAIMS}/c", {"metadata": {"finalizers": None}}, MERGE)
    kube.ok("DELETE", f"{CLAIMS}/c")
    kube.refused(404, "GET", f"{CLASSES}/fast")


def test_claim_stays_until_the_last_pod_that_uses_it_is_gone() -> None:
    kube = protected()
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": "c"}}
    container = {"name": "c", "image": "i"}
    for name in ("c", "other"):
        kube.ok("POST", CLAIMS, {"metadata": {"name": name}, "spec": CLAIM})
    for name in ("a", "b"):
        pod = {"containers": [container], "volumes": [volume], "nodeName": "n"}
        kube.ok("POST", PODS, {"metadata": {"name": name}, "spec": pod})
    kube.ok("DELETE", f"{CLAIMS}/other")
    kube.refused(404, "GET", f"{CLAIMS}/other")
    kube.ok("DELETE", f"{CLAIMS}/c")
    kube.ok("DELETE", f"{PODS}/a?gracePeriodSeconds=0")
    assert kube.ok("GET", f"{CLAIMS}/c")["metadata"]["deletionTimestamp"]
    kube.ok("DELETE", f"{PODS}/b?gracePeriodSeconds=0")
    kube.refused(404, "GET", f"{CLAIMS}/c")


def test_pod_that_is_not_scheduled_does_not_protect_its_claim() -> None:
    kube = protected()
    pod = {"containers": [{"name": "c", "image": "i"}]}
    for name in ("a", "b"):
        kube.ok("POST", CLAIMS, {"metadata": {"name": name}, "spec": CLAIM})
        volume = {"name": "v", "persistentVolumeClaim": {"claimName": name}}
        kube.ok("POST", PODS, {"metadata": {"name": name}, "spec": {**pod, "volumes": [volume]}})
    kube.ok("POST", f"{PODS}/b/binding", {"metadata": {"name": "b"}, "target": {"kind": "Node", "name": "n"}})
    for name in ("a", "b"):
        kube.ok("DELETE", f"{CLAIMS}/{name}")
    kube.refused(404, "GET", f"{CLAIMS}/a")
    kube.ok("GET", f"{CLAIMS}/b")
