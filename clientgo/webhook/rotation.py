"""Certificates for development: an authority of its own, injected into the API server and rotated in time.

    certificates = SelfSignedCertificates(client, server.cert_dir, Targets(validating=("validating-webhook",)))
    certificates.prepare()  # before the server starts
    manager.add(certificates)  # rotates them after two thirds of their lifetime

A rotation breaks no admission request: first the API server trusts the new authority in addition to the old one, then
the server uses a certificate of the new one, and only then the old one is removed. Between these steps lie
`overlap_seconds`, because API servers learn of configurations through a watch. In production use cert-manager.
"""

import threading
from collections.abc import Iterable
from datetime import timedelta
from functools import partial
from pathlib import Path

from clientgo.clock import SYSTEM_CLOCK, Clock
from clientgo.errors import ClientGoError, ConfigError
from clientgo.internal.files import PRIVATE, write_files
from clientgo.log import get_logger
from clientgo.pki import CertificateAuthority, merge_bundle
from clientgo.rest.request import Requester
from clientgo.serving.certificates import CERTIFICATE, KEY
from clientgo.webhook.injection import Targets, inject_ca, server_names

log = get_logger(__name__)

NAME = "clientgo-webhook-ca"
CA_CERTIFICATE, CA_KEY = "ca.crt", "ca.key"

LASTS = 90 * 24 * 3600.0
"""Lifetime of an authority in seconds (cert-manager's default for certificates)."""

_RETRY_SECONDS = 60.0
_LOOK_SECONDS = 10.0
"""Seconds between checks: others may write the targets again without the authority, the machine may be suspended."""


class SelfSignedCertificates:
    """Keeps `cert_dir` and the `caBundle`s of the targets consistent; a runnable that rotates both in time.

    The certificate is for `hosts` and the host names of the targets. Certificates that others added to a bundle remain,
    so several replicas, each with its own directory, can serve side by side.
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
        self._next: CertificateAuthority | None = None

    def __repr__(self) -> str:
        return f"<SelfSignedCertificates in {self._folder}>"

    def prepare(self) -> None:
        """Ensure a certificate that is valid for a while, and that the API server trusts it.

        Raises:
            ApiError: a target does not exist, or may not be read or patched.
            OSError: the directory is not writable.
        """
        authority = self._authority()
        if authority is None:
            authority = self._new_authority()
            self._inject(add=authority)
            self._write(authority)
            return
        self._inject(add=authority)
        if not authority.has_signed((self._folder / CERTIFICATE).read_bytes(), self._names()):
            self._write(authority)  # for example, the webhooks have a new host name

    def rotate(self, stop: threading.Event) -> None:
        """Replace authority and certificate; takes twice `overlap_seconds`, or no time once `stop` is set.

        Raises:
            ApiError: a target does not exist, or may not be read or patched. The old authority is still trusted.
            OSError: the directory is not writable.
        """
        old = self._authority()
        # The same one in each attempt: each that is injected is trusted until it expires.
        new = self._next = self._next or self._new_authority()
        self._inject(add=new)
        if self._clock.sleep(stop, self._overlap):
            return  # the old one stays in use; the unused new one stays trusted until it expires
        self._write(new)
        self._next = None
        log.info("webhook certificate rotated", extra={"directory": str(self._folder)})
        if old is not None and not self._clock.sleep(stop, self._overlap):
            self._inject(add=new, remove=old)

    def start(self, stop: threading.Event) -> None:
        """Keep the certificate valid and trusted until `stop` is set; retry failures after a minute.

        It is rotated when a third of the lifetime is left. A target that is written without the authority, for example
        because it was deleted and created again, gets it again within ten seconds.
        """
        while not stop.is_set():
            self._clock.sleep(stop, self._try(stop))

    def _new_authority(self) -> CertificateAuthority:
        return CertificateAuthority.create(NAME, timedelta(seconds=self._lasts), clock=self._clock)

    def _due(self) -> float:
        """Return the seconds until the authority must be replaced."""
        authority = self._authority()
        return 0.0 if authority is None else (authority.remaining - authority.lifetime / 3).total_seconds()

    def _try(self, stop: threading.Event) -> float:
        """Do what is due; return the seconds until the next check."""
        try:
            if self._due() <= 0:
                self.rotate(stop)
            else:
                self.prepare()
        except (ClientGoError, OSError) as error:
            log.error("cannot renew the webhook certificate; will retry", extra={"err": error})
            return _RETRY_SECONDS
        return min(_LOOK_SECONDS, max(0.0, self._due()))

    def _authority(self) -> CertificateAuthority | None:
        """Return the authority in the directory, or None if it is missing, invalid, or not valid now."""
        files = [self._folder / name for name in (CA_CERTIFICATE, CA_KEY, CERTIFICATE, KEY)]
        if not all(file.is_file() for file in files):
            return None
        try:
            authority = CertificateAuthority(files[0].read_bytes(), files[1].read_bytes(), clock=self._clock)
        except ConfigError as error:
            log.warning("creating a new certificate authority for webhooks", extra={"err": error})
            return None
        return authority if authority.valid_now else None

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
        # The pair last, so that it exists only once everything does. The server keeps the previous pair until key and
        # certificate match.
        files = {
            CA_CERTIFICATE: authority.certificate,
            CA_KEY: authority.key,
            KEY: key,
            CERTIFICATE: certificate,
        }
        write_files({self._folder / name: content for name, content in files.items()}, mode=PRIVATE)
