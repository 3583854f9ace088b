"""Settings of the admin client."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.clients.core.config.client import ClientConfig, ClientSettings
from millstream.clients.core.settings import integer, setting


@dataclass(frozen=True, slots=True, kw_only=True)
class AdminConfig(ClientConfig):
    default_api_timeout_ms: int = setting(
        60_000, integer(0), "Time limit of calls that have none of their own, retries included."
    )

    @property
    def metrics_prefix(self) -> str:
        return "admin.client"

    def default_client_id(self, number: int) -> str:
        return f"adminclient-{number}"


class AdminSettings(ClientSettings, total=False):
    """Keyword arguments of Admin; see AdminConfig."""

    default_api_timeout_ms: int
