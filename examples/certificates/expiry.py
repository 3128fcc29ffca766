"""Warns of TLS certificates that are about to expire: a controller for a kind that someone else defines.

    python -m clientgo.codegen --from-crd certificates.yaml --output-package certs --generators client
    clientgo run expiry.py --embedded --crds certificates.yaml

It records an Event and sets an annotation. For a prober it keeps a ConfigMap with the host names of each certificate.
"""

from datetime import timedelta

from clientgo.clock import utc
from clientgo.kubernetes.types.core_v1 import ConfigMap
from clientgo.manager import Reconciler, Result
from clientgo.meta import meta_for

from certs.types.certs_v1 import Certificate

NOTICE = timedelta(days=14)
EXPIRES_SOON = "expiry.example.com/expires-soon"


class ExpiryReconciler(Reconciler[Certificate], owns=[ConfigMap]):
    """Warns of certificates that expire within `NOTICE`, until they are renewed."""

    def reconcile(self, certificate: Certificate) -> Result | None:
        """Keep the ConfigMap and the annotation, and come back when it is time for the warning."""
        name = f"{certificate.metadata.name}-hosts"
        hosts = ConfigMap(
            metadata=meta_for(certificate, name, labels={"probe": "tls"}),
            data={"hosts": "\n".join(certificate.spec.dns_names)},
        )
        self.client.apply(hosts, owner=certificate, force=True)
        expires = certificate.status.not_after
        if expires is None:
            return None  # not issued yet
        remaining = expires - NOTICE - utc(self.clock)
        soon = remaining <= timedelta()
        if soon != (EXPIRES_SOON in certificate.metadata.annotations):
            value = expires.isoformat() if soon else None  # null deletes the annotation
            metadata = {"uid": certificate.metadata.uid, "annotations": {EXPIRES_SOON: value}}
            self.client.patch(certificate, {"metadata": metadata})
            if soon:
                self.recorder.event(certificate, "Warning", "ExpiresSoon", f"not renewed, expires at {expires}")
        return None if soon else Result(requeue_after=remaining.total_seconds())
