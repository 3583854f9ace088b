"""The `client.properties` of a user: what a client of any language needs to log in, in one file
that can be carried elsewhere.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, NamedTuple

from millstream.cli.private_files import write_private
from millstream.cli.terminal import printable
from millstream.errors import ConfigError
from millstream.properties_text import parse_properties, properties_text
from millstream.security.jaas import MODULES, parse_jaas_config

_BOOTSTRAP: Final = "bootstrap.servers"
_BOOTSTRAP_LINE: Final = re.compile(
    rb"^([ \t\f]*bootstrap[._]servers[ \t\f]*[=: \t\f][ \t\f]*)(?:[^\\\r\n]|\\\r\n|\\.)*",
    re.MULTILINE | re.DOTALL,
)
"""However people write it: with blanks, `:`, an underscore, or on several lines. Bytes:
comments may be in any encoding."""
_JAAS: Final = "sasl.jaas.config"


class UserLogin(NamedTuple):
    """The name, the password and the mechanism of a user."""

    user: str
    password: str
    mechanism: str

    def __repr__(self) -> str:
        return f"UserLogin({self.user!r}, {self.mechanism})"

    @property
    def settings(self) -> dict[str, str]:
        """The settings of a client that differ from user to user."""
        options = f"username={_quoted(self.user)} password={_quoted(self.password)}"
        return {
            "sasl.mechanism": self.mechanism,
            _JAAS: f"{MODULES[self.mechanism]} required {options};",
        }


def write_client_file(path: Path, bootstrap: str, login: UserLogin, authority_pem: str) -> None:
    """Writes a file for `login` over TLS. The authority stands in it, so that it needs no other file.

    Raises OSError.
    """
    settings = {
        _BOOTSTRAP: bootstrap,
        "security.protocol": "SASL_SSL",
        **login.settings,
        "ssl.truststore.type": "PEM",
        "ssl.truststore.certificates": authority_pem,
    }
    write_private(path, properties_text(settings, heading(login.user)))


def heading(user: str) -> str:
    """Returns the first line of a file for `user`."""
    name = printable(user)  # a line end in it would begin a setting
    return f"The login of {name}: whoever reads this may do what {name} may."


def point_client_file(path: Path, bootstrap: str) -> None:
    """Has a file lead to where the cluster is now, and leaves all else as it is.

    Nothing to do for one that is not there any more. Raises OSError.
    """
    if not path.exists():
        return
    text = path.read_bytes()
    changed = _BOOTSTRAP_LINE.sub(lambda found: found[1] + bootstrap.encode(), text)
    if changed != text:
        write_private(path, changed)


def password_of(path: Path) -> str | None:
    """Returns the password in a file; None where there is no file. Raises ConfigError and OSError."""
    if not path.exists():
        return None
    try:
        text = parse_properties(path.read_text(encoding="utf-8"))[_JAAS]
        return parse_jaas_config(text).options["password"]
    except (KeyError, ConfigError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} holds no login: remove it, and another one is made") from error


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
