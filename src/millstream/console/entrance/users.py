"""The users of the console are those of the cluster: a name and a password are right if the cluster lets them in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from millstream.clients.config import ClientConfig
from millstream.clients.config.settings import parse_settings
from millstream.console.cluster_reader import ClusterReader
from millstream.errors import ConfigError, SaslAuthenticationFailed
from millstream.net.client.core.credentials import credentials_from

_OF_ONE_USER: Final = frozenset({"sasl_username", "sasl_password", "sasl_jaas_config"})
_LONGEST: Final = 1_024


class ClusterUsers:
    """Logs users in at the cluster.

    What a user asks of it later is asked as that user, so that its access rules decide.
    """

    def __init__(
        self,
        settings: Mapping[str, Any],  # Any: the clients check the values
        timeout_ms: int,
    ) -> None:
        """`settings` are those of a client; whoever they name is not used. Raises ConfigError."""
        self._settings = {
            name: value for name, value in settings.items() if name not in _OF_ONE_USER
        }
        self._timeout_ms = timeout_ms
        # An error now, not at the first login.
        credentials_from(parse_settings(ClientConfig, self._of("user", "password")))

    async def log_in(self, user: str, password: str) -> ClusterReader:
        """Returns what reads the cluster as this user.

        Raises SaslAuthenticationFailed, and what keeps the cluster from answering.
        """
        if not (_is_sayable(user) and _is_sayable(password)):
            raise SaslAuthenticationFailed("No user has such a name or password.")
        try:
            reader = ClusterReader(self._of(user, password), self._timeout_ms)
        except ConfigError as error:  # of a name or password that the mechanism cannot carry
            raise SaslAuthenticationFailed("No user has such a name or password.") from error
        try:
            await reader.log_in()
        except BaseException:
            await reader.close()
            raise
        return reader

    def _of(self, user: str, password: str) -> dict[str, Any]:  # Any: as above
        return {**self._settings, "sasl_username": user, "sasl_password": password}


def _is_sayable(text: str) -> bool:
    """NUL parts the fields of PLAIN, so that a name with it would be another name; no control
    character is part of any.
    """
    return 0 < len(text) <= _LONGEST and text.isprintable()
