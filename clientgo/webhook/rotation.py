"""Certificates for development: an authority of one's own, made known to the API server, and replaced in time.

    certificates = SelfSignedCertificates(client, server.cert_dir, Targets(validating=("validating-webhook",)))
    certificates.prepare()  # before the server starts
    manager.add(certificates)  # which replaces them at two thirds of their time

No admission fails over a replacement: the API server is told to trust the new authority beside the old one first, then
the server shows a certificate of the new one, and only then the old one is forgotten. Between these steps passes
`overlap_seconds`, because API servers hear of configurations by a watch. In production cert-manager does all this.
"""

import logging
import os
import tempfile
import threading
from collections.abc import Iterable
from datetime import timedelta
from functools import partial
from pathlib import Path

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import ClientGoError, ConfigError
from clientgo.pki import CertificateAuthority, merge_bundle
from clientgo.rest.request import Requester
from clientgo.serving.certificates import CERTIFICATE, KEY
from clientgo.webhook.injection import Targets, inject_ca, server_names

log = logging.getLogger(__name__)

NAME = "clientgo-webhook-ca"
CA_CERTIFICATE, CA_KEY = "ca.crt", "ca.key"

LASTS = 90 * 24 * 3600.0
"""Seconds an authority is one, as cert-manager has it for certificates."""

_RETRY_SECONDS = 60.0
_LOOK_SECONDS = 3600.0
"""Between two looks at the time: a machine may have slept meanwhile."""


class SelfSignedCertificates:
    """Keeps `cert_dir` and the `caBundle`s of the targets in step; a runnable that replaces both in time.

    The certificate is for `hosts`, and for the names that the targets call. What others have put into a bundle stays,
    so that several replicas, each with a directory of its own, can serve side by side.
    """

    name = "webhook-certificates"
    stage = "webhooks"
    needs_leader_election = False  # each replica has its own

    def __init__(
        self,
        requester: Requester,
        cert_dir: str | Path,
        targets: Targets,
        *,
        hosts: Iterable[str] = (),
        lasts: float = LASTS,
        overlap_seconds: float = 30.0,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._requester = requester
        self._folder = Path(cert_dir)
        self._targets = targets
        self._hosts = tuple(hosts)
        self._lasts = lasts
        self._overlap = overlap_seconds
        self._clock = clock

    def __repr__(self) -> str:
        return f"<SelfSignedCertificates in {self._folder}>"

    def prepare(self) -> None:
        """Have a certificate that is valid for a while, and an API server that trusts it.

        Raises:
            ApiError: a target is not there, or may not be read or patched.
            OSError: the directory can't be written.
        """
        authority = self._authority()
        if authority is None:
            authority = self._new_authority()
            self._inject(add=authority)
            self._write(authority)
            return
        self._inject(add=authority)
        if not authority.has_signed((self._folder / CERTIFICATE).read_bytes(), self._names()):
            self._write(authority)  # the webhooks have got another name, say

    def rotate(self, stop: threading.Event) -> None:
        """Replace the authority and the certificate; takes twice `overlap_seconds`, and no time once `stop` is set.

        Raises:
            ApiError: a target is not there, or may not be read or patched. What was trusted before still is.
            OSError: the directory can't be written.
        """
        old, new = self._authority(), self._new_authority()
        self._inject(add=new)
        if self._clock.sleep(stop, self._overlap):
            return  # the old one is in use still; the new one, which nobody has, stays trusted until it ends
        self._write(new)
        log.info("the webhooks' certificate is replaced", extra={"directory": str(self._folder)})
        if old is not None and not self._clock.sleep(stop, self._overlap):
            self._inject(add=new, remove=old)

    def start(self, stop: threading.Event) -> None:
        """Replace what has a third of its time left, until `stop` is set; what fails is tried again a minute later."""
        while not stop.is_set():
            wait = self._due()
            if wait <= 0:
                wait = self._try(stop)
            self._clock.sleep(stop, min(wait, _LOOK_SECONDS))

    def _new_authority(self) -> CertificateAuthority:
        return CertificateAuthority.create(NAME, timedelta(seconds=self._lasts), clock=self._clock)

    def _due(self) -> float:
        """Seconds until the authority has to be replaced."""
        authority = self._authority()
        return 0.0 if authority is None else (authority.remaining - authority.lifetime / 3).total_seconds()

    def _try(self, stop: threading.Event) -> float:
        try:
            self.rotate(stop)
        except (ClientGoError, OSError) as error:
            log.error("the webhooks' certificate can't be replaced yet", extra={"err": error})
            return _RETRY_SECONDS
        return 0.0

    def _authority(self) -> CertificateAuthority | None:
        """That of the directory; None if there is none that can be used for some time yet."""
        files = [self._folder / name for name in (CA_CERTIFICATE, CA_KEY, CERTIFICATE, KEY)]
        if not all(file.is_file() for file in files):
            return None
        try:
            authority = CertificateAuthority(files[0].read_bytes(), files[1].read_bytes(), clock=self._clock)
        except ConfigError as error:
            log.warning("the webhooks' authority is made anew", extra={"err": error})
            return None
        return authority if authority.remaining > timedelta() else None

    def _names(self) -> list[str]:
        names = [*self._hosts, *server_names(self._requester, self._targets)]
        return list(dict.fromkeys(names or ["localhost"]))

    def _inject(self, *, add: CertificateAuthority, remove: CertificateAuthority | None = None) -> None:
        gone = remove.certificate if remove is not None else b""
        bundle = partial(merge_bundle, add=add.certificate, remove=gone, clock=self._clock)
        inject_ca(self._requester, self._targets, bundle)

    def _write(self, authority: CertificateAuthority) -> None:
        certificate, key = authority.server(self._names(), authority.remaining)
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        # The pair last: it is there once everything is. The server goes on with the former until key and certificate
        # are of each other.
        for name, content in (
            (CA_CERTIFICATE, authority.certificate),
            (CA_KEY, authority.key),
            (KEY, key),
            (CERTIFICATE, certificate),
        ):
            self._replace(name, content)

    def _replace(self, name: str, content: bytes) -> None:
        # Nobody reads half a file, and nobody else a key: temporary files are their owner's alone.
        descriptor, temporary = tempfile.mkstemp(dir=self._folder)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        Path(temporary).replace(self._folder / name)
