"""The TLS of one listener: its context of the moment, and who a client is by its certificate."""

from __future__ import annotations

import ssl

from millstream.security.principal import ANONYMOUS, USER_TYPE, KafkaPrincipal
from millstream.security.tls.certificate import read_certificate
from millstream.security.tls.der import NotDer
from millstream.security.tls.tls_settings import TlsSettings


class ListenerTls:
    """Implements `handshakes.TlsListener`.

    Whoever reloads the stores puts another context here; open connections keep theirs.
    """

    def __init__(
        self, settings: TlsSettings, context: ssl.SSLContext, *, names_clients: bool
    ) -> None:
        """`names_clients`: a certificate says who a client is.

        False where clients log in: then it only lets them in, as in Kafka.
        """
        self.context = context
        self._mapping = settings.mapping
        self._names_clients = names_clients

    def principal_of(self, certificate: bytes | None) -> KafkaPrincipal | None:
        if certificate is None or not self._names_clients:
            return ANONYMOUS
        try:
            name = self._mapping.name_for(read_certificate(certificate).subject)
        except NotDer:
            return None
        return None if name is None else KafkaPrincipal(USER_TYPE, name)
