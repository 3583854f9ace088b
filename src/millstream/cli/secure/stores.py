"""The authority of a secure node or cluster and the certificates of its nodes, as PEM files in one directory.

Made at the first start and kept. A node's certificate is issued anew at a start that finds it near its end, or without
a name of the node; the authority's key is needed only then, and may be kept elsewhere: until the end, or another host
in the settings, the old one serves on.
"""

from __future__ import annotations

import datetime as dt
import logging
import socket
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Final

from millstream.broker.config.kraft_settings import EVERY_ADDRESS
from millstream.cli.private_files import write_private
from millstream.errors import ConfigError
from millstream.runtime.extras import MissingExtra, explain_missing

if TYPE_CHECKING:
    from millstream.cli.certs.issuing import DevelopmentAuthority

AUTHORITY_FILE: Final = "authority.pem"
AUTHORITY_KEY_FILE: Final = "authority.key.pem"
_LOGGER: Final = logging.getLogger(__name__)
_HOSTS: Final = ("localhost", "127.0.0.1", "::1")


class Stores:
    """The files of one directory."""

    def __init__(self, directory: Path, now: dt.datetime) -> None:
        self._certificate = directory / AUTHORITY_FILE
        self._key = directory / AUTHORITY_KEY_FILE
        self._directory = directory
        self._now = now

    @property
    def authority_pem(self) -> str:
        """The certificate that clients believe. Raises OSError."""
        return self._certificate.read_text(encoding="utf-8")

    def prepare(self, node_file: str, node_name: str, hosts: Collection[str]) -> None:
        """Makes what is missing for a node that clients reach under `hosts`. Raises ConfigError and OSError.

        A certificate that is to be issued anew, and cannot be without the authority's key, serves
        on while it is good for them.
        """
        try:
            with explain_missing("--secure", "tls"):
                from millstream.cli.certs.issuing import is_good
        except MissingExtra as missing:
            raise ConfigError(str(missing)) from missing
        path = self._directory / node_file
        names = tuple(dict.fromkeys((*_HOSTS, *hosts, *_machine())))
        try:
            if path.exists():
                pem = path.read_text(encoding="utf-8")
                if is_good(pem, names, self._now):
                    return
                is_shut_away = self._certificate.exists() and not self._key.exists()
                if is_shut_away and is_good(pem, tuple(hosts), self._now, dt.timedelta()):
                    _LOGGER.warning(
                        "%s comes near its end, or has not the name of this machine, and %s, which issues another one, is missing: put the key "
                        "back for a start",
                        path,
                        self._key,
                    )
                    return
            write_private(path, self._authority().issue_node(node_name, names))
        except ValueError as error:
            raise ConfigError(
                f"the certificates in {self._directory} cannot be used: {error}"
            ) from error

    def _authority(self) -> DevelopmentAuthority:
        from millstream.cli.certs.issuing import DevelopmentAuthority

        if self._certificate.exists():
            if not self._key.exists():
                raise ConfigError(
                    f"{self._key} is missing, and the certificate of the node must be issued anew: put the key back for this start"
                )
            return DevelopmentAuthority.read(
                self._key.read_text(encoding="utf-8"), self.authority_pem, self._now
            )
        made = DevelopmentAuthority.new("Millstream", self._now)
        write_private(self._key, made.key_pem)
        write_private(self._certificate, made.certificate_pem)
        return made


def named_hosts(listeners: Collection[str]) -> tuple[str, ...]:
    """Returns the hosts of listeners but for those that stand for every address."""
    return tuple(dict.fromkeys(host for host in listeners if host not in EVERY_ADDRESS))


def _machine() -> tuple[str, ...]:
    """A certificate names it where it can."""
    name = socket.gethostname()
    return (name,) if name.isascii() else ()


def store_settings(authority: Path, store: Path) -> dict[str, str]:
    """Returns the settings of a node that shows `store` and believes the authority."""
    return {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(store),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(authority),
    }
