"""Certificate authorities of a TLS context, by Go's rules (crypto/x509), so that one bundle serves both."""

import re
import ssl

_CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----", re.ASCII)


def client_context(authorities: str) -> ssl.SSLContext:
    """Return a context that trusts the certificates in PEM text, or the machine's own if the text is empty.

    Raises:
        ValueError: the text contains no certificate.
    """
    # Not ssl.create_default_context: from Python 3.13 on it rejects authorities without a key identifier, which many
    # clusters have and Go accepts.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if authorities:
        add_authorities(context, authorities)
    else:
        context.load_default_certs()
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    return context


def add_authorities(context: ssl.SSLContext, pem: str) -> None:
    """Trust each certificate in PEM text, roots and intermediates alike; skip whatever else the text contains.

    Raises:
        ValueError: the text contains no certificate.
    """
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    added = 0
    # One by one and without the text around them: OpenSSL's binding takes ASCII alone, and would reject a whole bundle
    # for one certificate that it cannot parse.
    for block in _CERTIFICATE.findall(pem):
        try:
            context.load_verify_locations(cadata=block)
            added += 1
        except ssl.SSLError:
            continue  # as Go does; without any usable certificate the bundle is rejected below
    if not added:
        raise ValueError("no PEM certificate found")
