"""Settings of Kafka's Java clients that these clients do not have, and what to do instead."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

_METRICS = "there are no metric reporters"
_KERBEROS = "GSSAPI is not built; use SCRAM-SHA-512 or OAUTHBEARER"
_JAVA_TLS = "Python's ssl module decides that; give a ready ssl_context for what the ssl_ settings do not cover"
_PEM_ONLY = "PEM stores have no password; ssl_key_password opens an encrypted private key"
_LOGIN = "logins are not classes here; sasl_oauthbearer_token_provider is a function that returns a token"
_RETRIEVER = "where tokens come from follows from sasl_oauthbearer_token_endpoint_url, which is https:// or file:///, or from sasl_oauthbearer_token_provider"
_JWT_ASSERTION = (
    "the JWT bearer grant is not built; ask for the token in sasl_oauthbearer_token_provider"
)
_BROKER_SIDE = "brokers use it to check tokens; a client sends what it was given"
_REFRESH = "a token is fetched again after four fifths of its life, and when a connection needs one"

_ARGUMENT = "it is an object, not a class name: give it as the argument of the constructor"

JAVA_ONLY: Final[Mapping[str, str]] = MappingProxyType(
    {
        "config.providers": "values come from where you call; read them there",
        "interceptor.classes": f"{_ARGUMENT} (interceptors)",
        "internal.throw.on.fetch.stable.offset.unsupported": "internal to Java's clients",
        "key.deserializer": f"{_ARGUMENT} (key_deserializer)",
        "key.serializer": f"{_ARGUMENT} (key_serializer)",
        "metric.reporters": _METRICS,
        "metrics.num.samples": _METRICS,
        "metrics.recording.level": _METRICS,
        "metrics.sample.window.ms": _METRICS,
        "partitioner.class": f"{_ARGUMENT} (partitioner)",
        "retries": "calls are tried again until their time limit; write default_api_timeout_ms",
        "sasl.client.callback.handler.class": _LOGIN,
        "sasl.login.callback.handler.class": _LOGIN,
        "sasl.login.class": _LOGIN,
        "sasl.login.refresh.buffer.seconds": _REFRESH,
        "sasl.login.refresh.min.period.seconds": _REFRESH,
        "sasl.login.refresh.window.factor": _REFRESH,
        "sasl.login.refresh.window.jitter": _REFRESH,
        "sasl.kerberos.kinit.cmd": _KERBEROS,
        "sasl.kerberos.min.time.before.relogin": _KERBEROS,
        "sasl.kerberos.service.name": _KERBEROS,
        "sasl.kerberos.ticket.renew.jitter": _KERBEROS,
        "sasl.kerberos.ticket.renew.window.factor": _KERBEROS,
        "sasl.oauthbearer.assertion.algorithm": _JWT_ASSERTION,
        "sasl.oauthbearer.assertion.claim.aud": _JWT_ASSERTION,
        "sasl.oauthbearer.assertion.claim.exp.seconds": _JWT_ASSERTION,
        "sasl.oauthbearer.assertion.claim.iss": _JWT_ASSERTION,
        "sasl.oauthbearer.assertion.claim.jti.include": _JWT_ASSERTION,
        "sasl.oauthbearer.assertion.claim.nbf.seconds": _JWT_ASSERTION,
        "sasl.oauthbearer.assertion.claim.sub": _JWT_ASSERTION,
        "sasl.oauthbearer.assertion.file": _JWT_ASSERTION,
        "sasl.oauthbearer.assertion.private.key.file": _JWT_ASSERTION,
        "sasl.oauthbearer.assertion.private.key.passphrase": _JWT_ASSERTION,
        "sasl.oauthbearer.assertion.template.file": _JWT_ASSERTION,
        "sasl.oauthbearer.jwt.retriever.class": _RETRIEVER,
        "sasl.oauthbearer.jwt.validator.class": _BROKER_SIDE,
        "sasl.oauthbearer.clock.skew.seconds": _BROKER_SIDE,
        "sasl.oauthbearer.expected.audience": _BROKER_SIDE,
        "sasl.oauthbearer.expected.issuer": _BROKER_SIDE,
        "sasl.oauthbearer.jwks.endpoint.refresh.ms": _BROKER_SIDE,
        "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms": _BROKER_SIDE,
        "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms": _BROKER_SIDE,
        "sasl.oauthbearer.jwks.endpoint.url": _BROKER_SIDE,
        "sasl.oauthbearer.scope.claim.name": _BROKER_SIDE,
        "sasl.oauthbearer.sub.claim.name": _BROKER_SIDE,
        "security.providers": _JAVA_TLS,
        "share.acknowledgement.mode": "it is a setting of ShareConsumer",
        "share.acquire.mode": "it is a setting of ShareConsumer",
        "ssl.engine.factory.class": _JAVA_TLS,
        "ssl.keymanager.algorithm": _JAVA_TLS,
        "ssl.protocol": "write the versions to accept in ssl_enabled_protocols",
        "ssl.provider": _JAVA_TLS,
        "ssl.secure.random.implementation": _JAVA_TLS,
        "ssl.trustmanager.algorithm": _JAVA_TLS,
        "ssl.keystore.password": _PEM_ONLY,
        "ssl.truststore.password": _PEM_ONLY,
        "transaction.two.phase.commit.enable": "two-phase commit (KIP-939) is not built",
        "value.deserializer": f"{_ARGUMENT} (value_deserializer)",
        "value.serializer": f"{_ARGUMENT} (value_serializer)",
    }
)
"""Kafka's names, with dots."""


def java_only(key: str) -> str | None:
    """Says what to do instead of setting `key`; None when Java's clients do not know it
    either, or it is not theirs alone.
    """
    return JAVA_ONLY.get(key)
