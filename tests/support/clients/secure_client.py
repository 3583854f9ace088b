"""A blocking connection that speaks raw frames over TLS, once it has logged in with SCRAM."""

from __future__ import annotations

import secrets
import ssl

from millstream.protocol.api import ApiKey
from millstream.protocol.generated.sasl_authenticate import SaslAuthenticateRequest
from millstream.protocol.generated.sasl_handshake import SaslHandshakeRequest
from millstream.security.sasl_scram import ScramClient
from millstream.security.scram import ScramMechanism
from tests.support.clients.raw_client import RawClient


class SecureClient(RawClient):
    """Without a context of TLS it speaks to a listener without."""

    def __init__(self, bootstrap: str, context: ssl.SSLContext | None) -> None:
        super().__init__(bootstrap)
        if context is not None:
            try:
                self.socket = context.wrap_socket(self.socket, server_hostname="127.0.0.1")
            except OSError:
                self.socket.close()
                raise

    def log_in(self, user: str, password: str) -> None:
        """Raises AssertionError where the broker refuses, ConnectionError where it closes."""
        client = ScramClient(ScramMechanism.SCRAM_SHA_256, user, password, secrets.token_hex(8))
        self.shake_hands(client.mechanism)
        final = client.answer(self.say(client.first()))
        assert final is not None, "a broker challenges first"
        assert client.answer(self.say(final)) is None

    def shake_hands(self, mechanism: str) -> None:
        answer = self.ask(ApiKey.SASL_HANDSHAKE, 1, SaslHandshakeRequest(mechanism))
        assert answer.error_code == 0, answer

    def say(self, token: bytes) -> bytes:
        """Returns the broker's token. Raises AssertionError where it refuses ours."""
        answer = self.ask(ApiKey.SASL_AUTHENTICATE, 2, SaslAuthenticateRequest(token))
        assert answer.error_code == 0, answer.error_message
        return bytes(answer.auth_bytes)
