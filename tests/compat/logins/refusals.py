"""What each client tells its user who is refused, as patterns: the server's answer in the client's own words.

Kafka and ours are told apart nowhere but in TLS: of a certificate that is not believed Java says that it is bad or unknown (alerts
42 and 46), OpenSSL why: expired (45), of an unknown authority (48), missing (116). And Kafka shows the certificates of its
key store, OpenSSL that of their authority as well.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from tests.compat.logins.clients import (
    AIOKAFKA,
    FRANZ_GO,
    KAFKA_PYTHON,
    KAFKAJS,
    LIBRDKAFKA,
    OtherClient,
)

_ALERT: Final = "(expired|unknown|bad certificate|unknown ca|certificate required)"
_CONNECTION_LOST: Final = "socket disconnected"
"""kafka-python says this of a login where it has read the end of the connection together with the refusal."""


@dataclass(frozen=True)
class Refusals:
    login: str
    """Of a wrong password or token, around the server's sentence."""
    certificate: str
    """Of the client's certificate, which the server does not believe, or of none."""
    unmapped: str
    another_authority: str
    """Of the server's certificate, which the client does not believe."""
    another_host: str
    """Of the server's certificate, which is for another host."""
    expired_server: str
    """Of the server's certificate, which has expired."""
    write: str
    """Of a topic to which the user may not write."""
    read: str
    bearer_token: str | None = None
    """Of a refused token, where the client does not look at the refusal (RFC 7628, section 3.2.2)."""


OF: Final[dict[OtherClient, Refusals]] = {
    FRANZ_GO: Refusals(
        login="SASL_AUTHENTICATION_FAILED: SASL Authentication failed.: {sentence}",
        certificate="remote error: tls: .*certificate.*",
        unmapped="broker closed the connection immediately during api versions negotiation.*",
        another_authority="unable to dial: tls: failed to verify certificate: x509: certificate signed by unknown authority.*",
        another_host="unable to dial: tls: failed to verify certificate: x509: certificate is (not )?valid for .* localhost",
        expired_server="unable to dial: tls: failed to verify certificate: x509: certificate has expired or is not yet valid: .*",
        write="TOPIC_AUTHORIZATION_FAILED: Not authorized to access topics: .*",
        read="TOPIC_AUTHORIZATION_FAILED: Not authorized to access topics: .*",
    ),
    KAFKAJS: Refusals(
        login="KafkaJSSASLAuthenticationError: SASL {mechanism} authentication failed: {sentence}",
        certificate="KafkaJSNumberOfRetriesExceeded: Connection error: .*SSL alert number (42|45|46|48|116)",
        unmapped="KafkaJSNumberOfRetriesExceeded: Closed connection",
        another_authority="KafkaJSNumberOfRetriesExceeded: Connection error: (unable to verify the first certificate|self-signed certificate in certificate chain)",
        another_host="KafkaJSNumberOfRetriesExceeded: Connection error: .*does not match certificate's altnames.*",
        expired_server="KafkaJSNumberOfRetriesExceeded: Connection error: certificate has expired",
        write="KafkaJSNonRetriableError: Not authorized to access topics: .*",
        read="KafkaJSNonRetriableError: Not authorized to access topics: .*",
        bearer_token="KafkaJSNonRetriableError: Request is not valid given the current SASL state",
    ),
    LIBRDKAFKA: Refusals(
        login="_AUTHENTICATION: .*SASL authentication error: {sentence} .*",
        certificate=f"_TRANSPORT: .*alert (certificate )?{_ALERT}.*",
        unmapped="(_ALL_BROKERS_DOWN: ./. brokers are down|_TRANSPORT: .*Disconnected.*)",
        another_authority="_(SSL|TRANSPORT): .*certificate verify failed.*",
        another_host="_(SSL|TRANSPORT): .*certificate verify failed.*",
        expired_server="_(SSL|TRANSPORT): .*certificate verify failed.*",
        write="TOPIC_AUTHORIZATION_FAILED: Broker: Topic authorization failed",
        read="TOPIC_AUTHORIZATION_FAILED: .*Topic authorization failed",
    ),
    KAFKA_PYTHON: Refusals(
        login=f".*(SaslAuthenticationFailedError: {{sentence}}|{_CONNECTION_LOST})",
        certificate=f"KafkaConnectionError: .*alert (certificate )?{_ALERT}.*",
        unmapped=f"KafkaConnectionError: {_CONNECTION_LOST}",
        another_authority="KafkaConnectionError: Handshake failed: .*certificate verify failed: (unable to get local issuer certificate|self-signed certificate in certificate chain).*",
        another_host="KafkaConnectionError: Handshake failed: .*certificate is not valid for 'localhost'.*",
        expired_server="KafkaConnectionError: Handshake failed: .*certificate has expired.*",
        write=".*TopicAuthorizationFailedError: .*",
        read=".*TopicAuthorizationFailedError: .*",
    ),
    AIOKAFKA: Refusals(
        login=".* SaslAuthenticationFailed: {sentence}",
        certificate="KafkaConnectionError: .* closed",
        unmapped="KafkaConnectionError: .* closed",
        another_authority="KafkaConnectionError: .*certificate verify failed: (unable to get local issuer certificate|self-signed certificate in certificate chain).*",
        another_host="KafkaConnectionError: .*certificate is not valid for 'localhost'.*",
        expired_server="KafkaConnectionError: .*certificate has expired.*",
        write="TopicAuthorizationFailedError: .*",
        read="TopicAuthorizationFailedError: .*",
        bearer_token="KafkaError: KafkaError: it knows of no broker",
    ),
}


def of_login(client: OtherClient, mechanism: str) -> str:
    """Returns what is said of wrong credentials."""
    if mechanism == "OAUTHBEARER":
        sentence = re.escape('{"status":"invalid_token"}')
    elif mechanism == "PLAIN":
        sentence = "Authentication failed: Invalid username or password"
    else:
        sentence = f"Authentication failed during authentication due to invalid credentials with SASL mechanism {mechanism}"
    named = mechanism.replace("SCRAM-SHA-", "SCRAM SHA") if client is KAFKAJS else mechanism
    says = OF[client]
    if mechanism == "OAUTHBEARER" and says.bearer_token is not None:
        return says.bearer_token
    return says.login.replace("{sentence}", sentence).replace("{mechanism}", named)


def check(said: list[str], *refusal: str) -> None:
    """Checks that a client has said nothing but that it is refused, after what it has done before."""
    *done, pattern = refusal
    assert said[:-1] == done, said
    assert re.fullmatch(f"refused ({pattern})", said[-1]), (said[-1], pattern)
