"""Settings of the admin client."""

from __future__ import annotations

from dataclasses import dataclass, fields

from millstream.clients.config.client import ClientConfig, ClientSettings
from millstream.errors import ConfigError
from millstream.net.client.config.declarations import boolean, integer, setting
from millstream.net.client.core.addresses import Address, parse_bootstrap_servers


def _addresses_or_none(key: str, value: object) -> tuple[Address, ...]:
    return parse_bootstrap_servers(key, value) if value else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AdminConfig(ClientConfig):
    bootstrap_controllers: tuple[Address, ...] = setting(
        (),
        _addresses_or_none,
        "Addresses of controllers, to ask them directly instead of brokers (KIP-919).",
    )
    default_api_timeout_ms: int = setting(
        60_000,
        integer(0),
        "Time limit of a call, retries included, if the call has no timeout_ms of its own.",
    )

    retry_when_refused: bool = setting(
        True,
        boolean,
        "Whether to try again when every address refuses the connection. False: the call fails at once.",
    )

    def __post_init__(self) -> None:
        default = {field.name: field.default for field in fields(self)}["bootstrap_servers"]
        if self.bootstrap_controllers and self.bootstrap_servers != default:
            raise ConfigError("give bootstrap_servers or bootstrap_controllers, not both")

    def default_client_id(self, number: int) -> str:
        return f"adminclient-{number}"


class AdminSettings(ClientSettings, total=False):
    """Keyword arguments of Admin; see AdminConfig."""

    bootstrap_controllers: str | list[str] | tuple[Address, ...]
    default_api_timeout_ms: int
    retry_when_refused: bool
