"""The administrator of a secure node or cluster: a password that is made once, and the
`client.properties` that holds it.
"""

from __future__ import annotations

import base64
from pathlib import Path
from types import MappingProxyType
from typing import Final

from millstream.broker.config.security_table import STANDARD_AUTHORIZER
from millstream.cli.secure.client_file import (
    UserLogin,
    password_of,
    point_client_file,
    write_client_file,
)
from millstream.runtime.system import SystemRandom

ADMIN: Final = "admin"
CLIENT_FILE: Final = "client.properties"
_MECHANISMS: Final = ("SCRAM-SHA-512", "SCRAM-SHA-256")
ACCESS_SETTINGS: Final = MappingProxyType(
    {
        "sasl.enabled.mechanisms": ",".join(_MECHANISMS),
        "authorizer.class.name": STANDARD_AUTHORIZER,
    }
)
"""The settings of a secure node about logins and rules that are the same everywhere."""
TOKEN_KEY: Final = "delegation.token.secret.key"  # noqa: S105 - the name of a setting
_SECRET_BYTES: Final = 24
"""192 bits, 32 characters without padding."""
_NOT_KNOWN_YET: Final = "localhost:9092"


class Administrator:
    """The user `admin`, whose login is in one file."""

    def __init__(self, client_file: Path) -> None:
        self._file = client_file

    @property
    def password(self) -> str:
        """The password in the file, which was prepared. Raises ConfigError and OSError."""
        password = password_of(self._file)
        assert password is not None, "the file was prepared"
        return password

    @property
    def scram(self) -> tuple[str, ...]:
        """The credentials as `millstream storage format --add-scram` takes them."""
        return tuple(f"{name}=[name={ADMIN},password={self.password}]" for name in _MECHANISMS)

    def prepare(self, authority_pem: str) -> None:
        """Writes the file before anything is formatted, so that no password is lost. Raises ConfigError and OSError.

        One that a start that was cut off has left keeps its password, which nodes may have been formatted with.
        """
        login = UserLogin(ADMIN, password_of(self._file) or new_secret(), _MECHANISMS[0])
        write_client_file(self._file, _NOT_KNOWN_YET, login, authority_pem)

    def point_to(self, bootstrap: str) -> None:
        """Has the file, if it is still there, lead to where the cluster is now. Raises ConfigError and OSError."""
        point_client_file(self._file, bootstrap)

    def told(self, *, is_new: bool) -> str:
        """Returns lines for the operator, with the password if the administrator is new.

        Raises ConfigError and OSError.
        """
        if not self._file.exists():
            return ""
        words = f"\n  clients     millstream topics list --config {self._file}"
        if is_new:
            words += f"\n  login       user {ADMIN}, password {self.password} (told this once; the file has it too)"
        return words


def new_secret() -> str:
    """Returns a password that nobody guesses: 192 random bits, as text without blanks and quotes."""
    return base64.urlsafe_b64encode(SystemRandom().randbytes(_SECRET_BYTES)).decode()
