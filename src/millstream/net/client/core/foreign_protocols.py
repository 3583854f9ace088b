"""Guesses what is at the other end when it does not speak Kafka's protocol, by its first bytes or its silence."""

from __future__ import annotations


def unexpected_size(size: int, frame_bytes_max: int) -> str:
    """Describes the sender of a response that announces `size` bytes, which is negative or more than allowed."""
    first = (size & 0xFFFFFFFF).to_bytes(4, "big")
    if first[0] in (0x15, 0x16) and first[1] == 3:
        return "answered in TLS; set security_protocol to SSL or SASL_SSL"
    if first == b"HTTP":
        return "is an HTTP server, not a Kafka broker"
    return (
        f"announced a response of {size} bytes; receive_message_bytes_max is {frame_bytes_max}."
        " Is this a Kafka listener?"
    )


def early_end(security_protocol: str, answers: int) -> str:
    """Returns the likely reason why a broker closed a connection after so few answers;
    empty when there is none to name.
    """
    encrypted = security_protocol.endswith("SSL")
    if answers == 0 and encrypted:
        return (
            " before it answered; it may want a certificate of ours (ssl_keystore_location), or one"
            " with a name that its ssl.principal.mapping.rules know"
        )
    if answers == 0:
        wanted = "SASL_SSL" if security_protocol.startswith("SASL") else "SSL or SASL_SSL"
        return f" before it answered; listeners for TLS do that: try security_protocol={wanted}"
    if answers == 1 and not security_protocol.startswith("SASL"):
        wanted = "SASL_SSL" if encrypted else "SASL_PLAINTEXT"
        return f" after ApiVersions; listeners for SASL do that: try security_protocol={wanted}"
    return ""
