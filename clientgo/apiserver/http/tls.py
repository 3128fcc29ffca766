"""A certificate authority of the server's own: made when it starts, in memory, gone when it ends.

Keys are P-256, which take a millisecond to make. The authority's key never leaves the process; what it signs is valid
for a week, longer than any test and too short for anybody to build on.
"""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from clientgo.pki import begun, general_name, private_pem

_VALID = timedelta(days=7)
Pair = tuple[bytes, bytes]  # a certificate and its key, PEM


class Authority:
    """Signs certificates for servers and clients; `certificate` (PEM) is what trusts them."""

    def __init__(self, name: str = "clientgo-embedded-ca", *, pem: bytes = b"") -> None:
        """With the `pem` of an earlier one it is that authority.

        Raises:
            ValueError: `pem` is no certificate and key of an authority.
        """
        if pem:
            self._restore(pem)
            return
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._public = x509.SubjectKeyIdentifier.from_public_key(self._key.public_key())
        builder = self._builder(self._name, self._key.public_key())
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        builder = builder.add_extension(self._public, critical=False)
        builder = builder.add_extension(_usage(signs_certificates=True), critical=True)
        made = builder.sign(self._key, hashes.SHA256())
        self.certificate = made.public_bytes(serialization.Encoding.PEM)

    def __repr__(self) -> str:
        return "<Authority>"

    @property
    def pem(self) -> bytes:
        """Its certificate and its key: whoever has them is this authority."""
        return self.certificate + private_pem(self._key)

    def server(self, hosts: Iterable[str], lasts: timedelta = _VALID) -> Pair:
        """A certificate for a server that is reached under these names and addresses."""
        names = [general_name(host) for host in hosts]
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "kube-apiserver")])
        return self._issue(subject, ExtendedKeyUsageOID.SERVER_AUTH, lasts, x509.SubjectAlternativeName(names))

    def client(self, name: str, groups: Iterable[str] = (), lasts: timedelta = _VALID) -> Pair:
        """A certificate for a user: Kubernetes reads the name from CN, the groups from O."""
        organizations = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
        subject = x509.Name([*organizations, x509.NameAttribute(NameOID.COMMON_NAME, name)])
        return self._issue(subject, ExtendedKeyUsageOID.CLIENT_AUTH, lasts)

    def _restore(self, pem: bytes) -> None:
        certificate, key = x509.load_pem_x509_certificate(pem), serialization.load_pem_private_key(pem, None)
        if not isinstance(key, ec.EllipticCurvePrivateKey):
            raise ValueError("the authority's key is of a kind that is not made here")
        self._name, self._key = certificate.subject, key
        self._public = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
        self.certificate = certificate.public_bytes(serialization.Encoding.PEM)

    def _issue(
        self,
        subject: x509.Name,
        purpose: x509.ObjectIdentifier,
        lasts: timedelta,
        names: x509.SubjectAlternativeName | None = None,
    ) -> Pair:
        key = ec.generate_private_key(ec.SECP256R1())
        builder = self._builder(subject, key.public_key(), lasts)
        builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        builder = builder.add_extension(_usage(signs_certificates=False), critical=True)
        builder = builder.add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
        signer = x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(self._public)
        builder = builder.add_extension(signer, critical=False)
        if names is not None:
            builder = builder.add_extension(names, critical=False)
        made = builder.sign(self._key, hashes.SHA256())
        return made.public_bytes(serialization.Encoding.PEM), private_pem(key)

    def _builder(
        self, subject: x509.Name, public: ec.EllipticCurvePublicKey, lasts: timedelta = _VALID
    ) -> x509.CertificateBuilder:
        return begun(subject, self._name, public, datetime.now(UTC), lasts)


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
