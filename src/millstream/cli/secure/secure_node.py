"""A node that `millstream server --secure` runs: TLS, logins and access rules on, and one user, the administrator.

What it needs lies in its data directory, beside Kafka's files: `secure.properties` (the settings, which also
say that the directory is a secure one), the authority, the certificate of the node, and `client.properties`
for the administrator. `secure.properties` is written before anything else: a first start that was cut off is
gone on with, and keeps its password.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from millstream.broker.config.broker_config import with_client_port
from millstream.broker.config.kraft_settings import KRaftSettings, kraft_settings
from millstream.broker.config.listeners import parse_listeners
from millstream.broker.config.sources import Settings
from millstream.broker.config.standing_alone import stands_alone
from millstream.broker.storage.data_directory import random_uuid
from millstream.cli.private_files import write_private
from millstream.cli.secure.administrator import (
    ACCESS_SETTINGS,
    ADMIN,
    CLIENT_FILE,
    TOKEN_KEY,
    Administrator,
    new_secret,
)
from millstream.cli.secure.stores import (
    AUTHORITY_FILE,
    AUTHORITY_KEY_FILE,
    Stores,
    named_hosts,
    store_settings,
)
from millstream.cli.server.settings import SECURE_CLUSTER_FILE, SECURE_FILE, read_properties
from millstream.cli.storage.formatting import FormatOptions, Formatter, new_cluster
from millstream.errors import ConfigError
from millstream.log.directory.text_checkpoints import LOCK_FILE, META_PROPERTIES_FILE
from millstream.model import uuid_text
from millstream.properties_text import properties_text
from millstream.quoting import some_of
from millstream.runtime.system import SystemClock, SystemFileSystem, SystemRandom

_LOGGER: Final = logging.getLogger(__name__)
LISTENER: Final = "SASL_SSL"
_NODE_FILE: Final = "node.pem"
_OWN_FILES: Final = frozenset(
    {SECURE_FILE, CLIENT_FILE, _NODE_FILE, AUTHORITY_FILE, AUTHORITY_KEY_FILE}
)
_IN_AN_EMPTY_DIRECTORY: Final = frozenset({LOCK_FILE, "lost+found"})


class SecureNode:
    """A node and the files that make it secure. `begin` writes them; until then nothing is changed."""

    def __init__(self, given: Settings, settings: dict[str, str], port: int | None) -> None:
        """`settings`: with those of the command line; `port`: for clients.

        Raises ConfigError where they or the directory do not fit, and OSError.

        What an earlier start was given, or somebody has written into `secure.properties`, holds until it is given anew.
        """
        self._directory = Path(kraft_settings(settings).metadata_directory).absolute()
        self._is_new = _check_directory(self._directory)
        file = self._directory / SECURE_FILE
        self._kept = read_properties(file) if file.exists() else {}
        own = self._own_settings()
        for key in own:
            if key in given.given:
                raise ConfigError(
                    f"{key} {given.given[key].source}: --secure sets it; leave it out, or start without --secure"
                )
        settings = {
            "listeners": f"{LISTENER}://127.0.0.1:9092",
            **self._kept_beside(settings),
            **settings,
        }
        if port is not None:
            settings = with_client_port(settings, port)
        self._node = kraft_settings(settings)
        self._own = own
        self.settings = settings | own
        """All settings of the node."""
        if not stands_alone(settings):
            raise ConfigError(
                "--secure is for a node that stands alone: `millstream cluster --secure` starts several"
            )
        self._hosts = _hosts(settings)
        self._administrator = Administrator(self._directory / CLIENT_FILE)

    def begin(self, cluster_id: str | None) -> None:
        """Makes what is missing, and formats an empty directory. Raises ConfigError, MillstreamError and OSError."""
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._locked():
            self._tell_what_goes()
            text = properties_text(self.settings, "Written by `millstream server --secure`.")
            write_private(self._directory / SECURE_FILE, text)
            stores = Stores(self._directory, dt.datetime.now(dt.UTC))
            stores.prepare(_NODE_FILE, "node", self._hosts)
            if self._is_new:
                self._administrator.prepare(stores.authority_pem)
                _format(self._node, cluster_id, self._administrator.scram)

    def ready_at(self, bootstrap: str) -> str:
        """Has the file of the administrator lead to where the node is now. Returns lines about it for the operator.

        Raises ConfigError and OSError.
        """
        self._administrator.point_to(bootstrap)
        return self._administrator.told(is_new=self._is_new)

    def _own_settings(self) -> dict[str, str]:
        stores = store_settings(self._directory / AUTHORITY_FILE, self._directory / _NODE_FILE)
        return {
            "inter.broker.listener.name": LISTENER,
            "listener.security.protocol.map": f"{LISTENER}:SASL_SSL",
            **stores,
            **ACCESS_SETTINGS,
            "super.users": f"User:{ADMIN}",
            TOKEN_KEY: self._kept.get(TOKEN_KEY) or new_secret(),
        }

    def _kept_beside(self, given: dict[str, str]) -> dict[str, str]:
        """The settings of the file.

        Where its directories are not the one that holds it, it was moved, and those are left out.
        """
        places = {"log.dir", "log.dirs", "metadata.log.dir"}
        found = Path(kraft_settings(self._kept | given).metadata_directory).absolute()
        if found == self._directory:
            return self._kept
        return {key: value for key, value in self._kept.items() if key not in places}

    def _tell_what_goes(self) -> None:
        """Names the settings of the file that are --secure's, and not what it sets them to."""
        gone = [
            key
            for key, value in self._own.items()
            if key in self._kept and Path(self._kept[key]).name != Path(value).name  # it was moved
        ]
        if gone:
            _LOGGER.warning(
                "%s: --secure sets %s, and what the file had is gone",
                self._directory / SECURE_FILE,
                some_of(gone),
            )

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """A node that runs here writes the same files. Raises ConfigError."""
        try:
            lock = SystemFileSystem().lock(str(self._directory / LOCK_FILE))
        except BlockingIOError as error:
            raise ConfigError(
                f"{self._directory} is held by another broker; stop it, or choose another directory with --data"
            ) from error
        try:
            yield
        finally:
            lock.close()


def _check_directory(directory: Path) -> bool:
    """Whether the directory is yet to be formatted. Raises ConfigError where it holds anything but a secure node."""
    names = {each.name for each in directory.iterdir()} if directory.exists() else set()
    if SECURE_FILE in names:
        names -= _OWN_FILES
    elif SECURE_CLUSTER_FILE in names:
        raise ConfigError(
            f"{directory} is of a node of `millstream cluster --secure`, which starts it: give another directory with --data"
        )
    elif META_PROPERTIES_FILE in names:
        raise ConfigError(
            f"{directory} was begun without --secure: give another directory with --data, or add logins and rules to its settings "
            "(docs/guide/security.md)"
        )
    if META_PROPERTIES_FILE in names:
        return False
    others = sorted(name for name in names - _IN_AN_EMPTY_DIRECTORY if not _is_of_format(name))
    if others:
        raise ConfigError(
            f"{directory} holds other things ({', '.join(others[:3])}) and no meta.properties: give an empty directory with --data"
        )
    return True


def _is_of_format(name: str) -> bool:
    """Whether a start that was cut off may have left the file."""
    return name.endswith(".tmp") or name == "bootstrap.checkpoint"


def _hosts(settings: dict[str, str]) -> tuple[str, ...]:
    """The names under which clients reach the node.

    Raises ConfigError for a listener where they would not log in over TLS.
    """
    found: list[str] = []
    for key in ("listeners", "advertised.listeners"):
        entries = [each.strip() for each in settings.get(key, "").split(",") if each.strip()]
        for listener in parse_listeners(key, entries):
            if listener.name != LISTENER:
                raise ConfigError(
                    f"{key}: {listener} is not a listener of --secure, which has one, {LISTENER}://HOST:PORT"
                )
            found.append(listener.host)
    return named_hosts(found)


def _format(node: KRaftSettings, cluster_id: str | None, scram: tuple[str, ...]) -> None:
    random = SystemRandom()
    options = FormatOptions(
        cluster_id=cluster_id or uuid_text(random_uuid(random)),
        scram=scram,
        no_initial_controllers=True,  # a node that stands alone is its only voter
        ignore_formatted=True,
    )
    formatter = Formatter(node, SystemFileSystem(), SystemClock(), random)
    for _ in formatter.format(options, new_cluster(options, node, random)):
        pass  # it works as it is read; its lines are for `millstream storage`
