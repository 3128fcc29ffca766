"""Parts of certificates, for whoever signs some: the bundled server, webhooks in development, a server without any.

Keys are P-256, which take a millisecond to make. Importing this needs `cryptography`, an extra.
"""

import ipaddress
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

EARLIER = timedelta(hours=1)
"""So long before now a certificate begins to be valid: clocks of peers may be slow."""


def begun(
    subject: x509.Name, issuer: x509.Name, public: ec.EllipticCurvePublicKey, now: datetime, lasts: timedelta
) -> x509.CertificateBuilder:
    """A certificate to which extensions may be added, valid until `lasts` from now."""
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(public)
    builder = builder.serial_number(x509.random_serial_number())
    return builder.not_valid_before(now - EARLIER).not_valid_after(now + lasts)


def private_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    """The key as PEM, without a passphrase."""
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def general_name(host: str) -> x509.GeneralName:
    """How a certificate names an address or a host."""
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
