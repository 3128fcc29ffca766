"""`clientgo certificates`: the certificate of the webhook server of a project without cert-manager.

Kustomize reads it from `config/certificates`: a Secret for the manager, and the CA for the API server. The key of the
authority is written nowhere.
"""

import argparse
from datetime import timedelta
from pathlib import Path

from clientgo.cli.creating import say
from clientgo.cli.names import SELF_SIGNED, CommandError
from clientgo.cli.project import Project
from clientgo.clock import SYSTEM_CLOCK, Clock, utc
from clientgo.internal.files import PRIVATE, path_below, write_files
from clientgo.pki import CertificateAuthority, dns_names, expiry, merge_bundle
from clientgo.serving.certificates import CERTIFICATE, KEY

FOLDER = Path("config", "certificates")
AUTHORITY = "ca.crt"

LIFETIME = timedelta(days=3650)
"""Lifetime of a certificate; it is replaced once a third of it is left."""


def certificates(options: argparse.Namespace, root: Path, *, clock: Clock = SYSTEM_CLOCK) -> int:
    """Write a certificate unless there is one for the Service, which is valid for a while.

    Raises:
        CommandError: the folder has no project, or its certificates come from cert-manager.
    """
    project = Project.read(root)
    if project.certificates != SELF_SIGNED:
        raise CommandError(
            f"the certificates of this project come from {project.certificates}: clientgo upgrade"
            f" --certificates={SELF_SIGNED} changes that"
        )
    host = options.host or f"{project.name}-webhook-service.{project.name}-system.svc"
    authority, certificate, key = (path_below(root, FOLDER / name) for name in (AUTHORITY, CERTIFICATE, KEY))
    trusted = authority.read_bytes() if authority.is_file() else b""
    if key.is_file() and certificate.is_file() and trusted:
        current = certificate.read_bytes()
        if host in dns_names(current) and expiry(current) - utc(clock) > LIFETIME / 3:
            say(f"{FOLDER / CERTIFICATE} is valid until {expiry(current):%Y-%m-%d}")
            return 0
    new = CertificateAuthority.create("webhook-ca", LIFETIME, clock=clock)
    pair = new.server([host], LIFETIME)
    # Pods with the old certificate are trusted until they have read the new one.
    bundle = merge_bundle(trusted, add=new.certificate, clock=clock)
    files = {authority: bundle, certificate: pair[0], key: pair[1]}
    write_files(files, mode=PRIVATE)
    say(f"{FOLDER} has a new certificate for {host}: make deploy installs it")
    return 0
