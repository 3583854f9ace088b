"""Joins what the settings say of logins with the cluster's credentials: the rules of each listener that has SASL."""

from __future__ import annotations

import hmac
import logging
import secrets
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from millstream.broker.config.broker_config import BrokerConfig
from millstream.broker.config.listeners import Listener
from millstream.broker.config.sasl_settings import BearerSettings, MechanismSettings, SaslListener
from millstream.broker.login.stored_credentials import StoredCredentials
from millstream.broker.services import BackgroundTasks, Metadata
from millstream.errors import ConfigError
from millstream.net.server.login_gate import LoginRules, WorkerPool
from millstream.runtime import Clock
from millstream.runtime.extras import MissingExtra, explain_missing
from millstream.security.login.login import Mechanism
from millstream.security.login.mechanism import PlainServer, SaslServer
from millstream.security.login.oauthbearer_server import BearerIdentity, OAuthBearerServer
from millstream.security.login.scram_server import ScramServer
from millstream.security.scram import ScramMechanism

_LOGGER = logging.getLogger(__name__)
_NONCE_BYTES: Final = 24
_SECRET_BYTES: Final = 32
_SCRAM: Final = {mechanism.sasl_name: mechanism for mechanism in ScramMechanism}


class NodeLogins:
    """Makes the rules by which clients log in at the listeners of a node."""

    def __init__(
        self,
        config: BrokerConfig,
        metadata: Metadata,
        clock: Clock,
        pool: WorkerPool,
        tasks: BackgroundTasks,
    ) -> None:
        """`pool` computes signatures, `tasks` keep the keys of token issuers fresh."""
        self._config = config
        self._clock = clock
        self._pool = pool
        self._tasks = tasks
        self._credentials = StoredCredentials(
            metadata, config.delegation_token_secret_key, clock, secrets.token_bytes
        )
        self._decoy_secret = _decoy_secret(config.delegation_token_secret_key)

    def rules_of(self, listeners: tuple[Listener, ...]) -> Mapping[str, LoginRules]:
        """Returns the rules of those listeners that have SASL, by name."""
        logins = self._config.protection.logins
        return {
            each.name: self._rules(each, logins[each.name])
            for each in listeners
            if each.name in logins
        }

    def _rules(self, listener: Listener, login: SaslListener) -> LoginRules:
        names = [each.name for each in login.mechanisms]
        _LOGGER.info("listener %s: clients log in with %s", listener.name, ", ".join(names))
        if not self._config.protection.protocols[listener.name].has_tls:
            for name in sorted({"PLAIN", "OAUTHBEARER"}.intersection(names)):
                _LOGGER.warning(
                    "listener %s has no TLS: with %s whoever listens on the network can log in later too; make it SASL_SSL, keep it on a private network, or use SCRAM",
                    listener.name, name,
                )  # fmt: skip
        return LoginRules(
            mechanisms={
                each.name: Mechanism(self._server(each), each.session_ms_max)
                for each in login.mechanisms
            },
            pool=self._pool,
            frame_bytes_max=login.frame_bytes_max,
            failure_delay_ms=self._config.connection_failed_authentication_delay_ms,
        )

    def _server(self, mechanism: MechanismSettings) -> Callable[[], SaslServer]:
        if mechanism.name == "PLAIN":
            return partial(PlainServer, mechanism.passwords)
        if mechanism.bearers is not None:
            return partial(OAuthBearerServer, self._validate(mechanism.bearers))
        scram = _SCRAM[mechanism.name]
        return lambda: ScramServer(
            scram, self._credentials, secrets.token_urlsafe(_NONCE_BYTES), self._decoy_secret
        )

    def _validate(self, bearers: BearerSettings) -> Callable[[str], BearerIdentity]:
        try:
            with explain_missing("OAUTHBEARER", "oauth"):
                from millstream.broker.login.issuer_keys import FetchedKeys
                from millstream.broker.login.jwt_validation import TokenValidator
        except MissingExtra as missing:
            raise ConfigError(str(missing)) from missing
        keys = FetchedKeys(bearers, self._clock)
        self._tasks.start(keys.run(), "keys of token issuers")
        return TokenValidator(bearers, keys, self._clock.wall_ms).validate


def _decoy_secret(cluster_secret_key: str | None) -> bytes:
    """The same on all nodes and after each start where there is a secret of the cluster; else one of this process.

    In that case who asks before and after a restart finds out which names nobody has.
    """
    if cluster_secret_key is None:
        return secrets.token_bytes(_SECRET_BYTES)
    return hmac.digest(cluster_secret_key.encode(), b"salts of names that nobody has", "sha256")
