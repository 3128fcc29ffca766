"""A certificate authority for development: signs the webhook server's certificate where no cert-manager does.

Keys are P-256. Importing this needs `cryptography` (the extra `secure-serving`).
"""

import re
from collections.abc import Iterable
from datetime import timedelta

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from clientgo.clock import SYSTEM_CLOCK, Clock, utc
from clientgo.errors import ConfigError
from clientgo.pki import EARLIER, begun, general_name, private_pem

NAME = "clientgo-webhook-ca"

_BLOCK = re.compile(rb"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)
_LONGEST_NAME = 64
"""Letters of a common name at most (X.520); names of services may be longer, and stand elsewhere."""


class Authority:
    """Signs serving certificates; `certificate` (PEM) is what trusts them, `key` (PEM) is what signs.

    Raises:
        ConfigError: what was given is no certificate and key of an authority.
    """

    def __init__(self, certificate: bytes, key: bytes, *, clock: Clock = SYSTEM_CLOCK) -> None:
        try:
            self._certificate = x509.load_pem_x509_certificate(certificate)
            private = serialization.load_pem_private_key(key, None)
        except (ValueError, TypeError) as error:
            raise ConfigError(f"the authority of the webhooks can't be read: {error}") from error
        if not isinstance(private, ec.EllipticCurvePrivateKey):
            raise ConfigError("the authority of the webhooks has a key of a kind that is not made here")
        if private.public_key() != self._certificate.public_key():
            raise ConfigError("the authority of the webhooks has a key that is not its own")
        self._key = private
        self._clock = clock
        self.certificate, self.key = certificate, key

    def __repr__(self) -> str:
        return f"<Authority until {self._certificate.not_valid_after_utc:%Y-%m-%d}>"

    @classmethod
    def create(cls, *, lasts: float, clock: Clock = SYSTEM_CLOCK) -> "Authority":
        """A new one, which is one for `lasts` seconds."""
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, NAME)])
        subject = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
        builder = begun(name, name, key.public_key(), utc(clock), timedelta(seconds=lasts))
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        builder = builder.add_extension(subject, critical=False)
        # Two authorities of one name in a bundle are told apart by this (RFC 5280, 4.2.1.1).
        signer = x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(subject)
        builder = builder.add_extension(signer, critical=False)
        made = builder.add_extension(_usage(signs=True), critical=True).sign(key, hashes.SHA256())
        return cls(made.public_bytes(serialization.Encoding.PEM), private_pem(key), clock=clock)

    @property
    def left(self) -> float:
        """Seconds for which it still is one."""
        return (self._certificate.not_valid_after_utc - utc(self._clock)).total_seconds()

    @property
    def lasts(self) -> float:
        """Seconds for which it was made."""
        whole = self._certificate.not_valid_after_utc - self._certificate.not_valid_before_utc
        return (whole - EARLIER).total_seconds()

    def vouches_for(self, certificate: bytes, hosts: Iterable[str]) -> bool:
        """Whether it has signed this certificate (PEM), which is for all of these names, and for some time yet."""
        try:
            found = x509.load_pem_x509_certificate(certificate)
            found.verify_directly_issued_by(self._certificate)
            names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        except (ValueError, TypeError, InvalidSignature, x509.ExtensionNotFound):
            return False
        return found.not_valid_after_utc > utc(self._clock) and all(general_name(host) in names for host in hosts)

    def serving_pair(self, hosts: Iterable[str]) -> tuple[bytes, bytes]:
        """A certificate and key (PEM) for a server of these names, valid for as long as the authority."""
        names = [general_name(host) for host in hosts]
        if not names:
            raise ValueError("a serving certificate has a name at least")
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, str(names[0].value)[:_LONGEST_NAME])])
        builder = begun(
            subject, self._certificate.subject, key.public_key(), utc(self._clock), timedelta(seconds=self.left)
        )
        builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        builder = builder.add_extension(_usage(signs=False), critical=True)
        builder = builder.add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        identifier = self._certificate.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
        signer = x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier)
        builder = builder.add_extension(signer, critical=False)
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        made = builder.sign(self._key, hashes.SHA256())
        return made.public_bytes(serialization.Encoding.PEM), private_pem(key)


def merged(bundle: bytes, *, add: bytes = b"", remove: bytes = b"", clock: Clock = SYSTEM_CLOCK) -> bytes:
    """The certificates of a bundle (PEM) with others added and some removed, each once, without those that ended."""
    gone = set(_BLOCK.findall(remove)) - set(_BLOCK.findall(add))
    kept = [one for one in dict.fromkeys(_BLOCK.findall(bundle) + _BLOCK.findall(add)) if one not in gone]
    return b"".join(one + b"\n" for one in kept if _is_valid(one, clock))


def _is_valid(certificate: bytes, clock: Clock) -> bool:
    try:
        return x509.load_pem_x509_certificate(certificate).not_valid_after_utc > utc(clock)
    except ValueError:
        return False


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs,
        key_cert_sign=signs,
        crl_sign=signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
