"""Certificates made on the spot: an authority that a test trusts, and what it signs, right or wrong in one way."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from ipaddress import ip_address
from pathlib import Path
from tempfile import TemporaryDirectory

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

NOW = datetime.now(UTC)
DAY = timedelta(days=1)


@dataclass(frozen=True)
class Authority:
    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    def client(self) -> ssl.SSLContext:
        """What a client has that trusts this authority and nobody else."""
        pem = self.certificate.public_bytes(serialization.Encoding.PEM).decode()
        return ssl.create_default_context(cadata=pem)

    def server(
        self, *names: str, starts: datetime = NOW - DAY, ends: datetime = NOW + 30 * DAY, self_signed: bool = False
    ) -> ssl.SSLContext:
        """What a server has whose certificate speaks for these names or addresses."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = _name(names[0])
        made = (
            _builder(subject, subject if self_signed else self.certificate.subject, key, starts, ends)
            .add_extension(x509.SubjectAlternativeName([_alternative(name) for name in names]), critical=False)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .sign(key if self_signed else self.key, hashes.SHA256())
        )
        return _server_context(made, key)


@cache
def authority(name: str = "An Authority") -> Authority:
    key = ec.generate_private_key(ec.SECP256R1())
    made = (
        _builder(_name(name), _name(name), key, NOW - DAY, NOW + 30 * DAY)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    return Authority(made, key)


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _alternative(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, starts: datetime, ends: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(starts)
        .not_valid_after(ends)
    )


def _server_context(certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    pem = certificate.public_bytes(serialization.Encoding.PEM) + key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    with TemporaryDirectory() as folder:  # ssl reads certificates from files only
        path = Path(folder) / "server.pem"
        path.write_bytes(pem)
        context.load_cert_chain(path)
    return context
