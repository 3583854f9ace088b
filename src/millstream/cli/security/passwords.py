"""New passwords of users: typed at a prompt, read from a file or standard input, or made.

Never on the command line, which others can see.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import click

from millstream.cli.cluster_options import ClusterOptions, Given
from millstream.cli.private_files import write_private
from millstream.cli.secure.client_file import UserLogin, heading
from millstream.properties_text import properties_text
from millstream.security.scram import ITERATIONS_MAX, ITERATIONS_MIN, ScramMechanism

if TYPE_CHECKING:
    from millstream.clients.admin import UpsertScramCredential

Returned = TypeVar("Returned")
MECHANISMS: Final = {mechanism.sasl_name: mechanism for mechanism in ScramMechanism}
_STANDARD_INPUT: Final = "-"
_OF_ANOTHER: Final = ("sasl.", "ssl.key", "ssl.certificate", "bootstrap.servers")
"""Settings of a client that are not the new user's: a login, a certificate, where the cluster was."""

mechanism_option = click.option(
    "--mechanism", "mechanism_names", type=click.Choice(list(MECHANISMS), case_sensitive=False), multiple=True,
    help="How the user logs in; may be repeated.",
)  # fmt: skip
_OPTIONS: Final = (
    mechanism_option,
    click.option(
        "--password-file", type=click.Path(exists=True, dir_okay=False, allow_dash=True), metavar="FILE",
        help="The first line of FILE is the password; -: of standard input. Without this option it is asked for.",
    ),
    click.option("--generate", is_flag=True, help="Make a password that nobody guesses. It is printed, unless --client-properties takes it."),
    click.option(
        "--client-properties", "client_file", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
        help="Write a new file with which the user logs in: the settings of --config, with this login in place of yours.",
    ),
    click.option(
        "--iterations", type=click.IntRange(ITERATIONS_MIN, ITERATIONS_MAX), default=8192, show_default=True,
        help="How often the password is hashed.",
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class PasswordOptions:
    """A new password, as the options say it."""

    mechanisms: Sequence[ScramMechanism]
    """None named: those of the verb."""
    file: str | None
    is_generated: bool
    client_file: Path | None
    iterations: int

    def check(self, cluster: ClusterOptions) -> None:
        """Raises UsageError for options that do not go together, before anybody is asked."""
        if self.is_generated and self.file is not None:
            raise click.UsageError("give --generate or --password-file, not both")
        if self.client_file is None:
            return
        if self.client_file.exists():
            raise click.UsageError(f"{self.client_file} is there already: name a new file")
        protocol = _dotted(cluster.file_settings).get("security.protocol", "")
        if not protocol.upper().startswith("SASL"):
            raise click.UsageError(
                "--client-properties takes the settings of --config, which has no security.protocol of SASL"
            )

    def read(self, user: str) -> str:
        """Returns the password.

        Raises UsageError for an empty one and for one that is no text, OSError, and Abort where nobody answers.
        """
        if self.is_generated:
            from millstream.cli.secure.administrator import new_secret

            return new_secret()
        if self.file is None and sys.stdin.isatty():
            text: str = click.prompt(
                f"Password of {user}", hide_input=True, confirmation_prompt=True, err=True
            )
            return text
        password = self._first_line()
        if not password:
            raise click.UsageError(
                "the password is empty: it is the first line of standard input or of --password-file, or --generate makes one"
            )
        return password

    def credentials(
        self, user: str, password: str, mechanisms: Sequence[ScramMechanism]
    ) -> list[UpsertScramCredential]:
        """Returns the credentials of the user for these mechanisms."""
        from millstream.clients.admin import UpsertScramCredential

        return [
            UpsertScramCredential(user, mechanism, password, self.iterations)
            for mechanism in mechanisms
        ]

    def write_client_file(self, cluster: ClusterOptions, login: UserLogin) -> None:
        """Writes the file for the user, if one is wanted. Raises OSError."""
        if self.client_file is None:
            return
        from millstream.clients.config import ClientConfig

        kept = {
            key: value
            for key, value in _dotted(cluster.file_settings).items()
            if not key.startswith(_OF_ANOTHER)
        }
        bootstrap = cluster.settings(ClientConfig)["bootstrap_servers"]
        settings = {"bootstrap.servers": bootstrap, **kept, **login.settings}
        write_private(self.client_file, properties_text(settings, heading(login.user)))

    def _first_line(self) -> str:
        try:
            if self.file in {None, _STANDARD_INPUT}:
                return sys.stdin.readline().rstrip("\r\n")
            with Path(str(self.file)).open(encoding="utf-8") as file:
                return file.readline().rstrip("\n")
        except UnicodeDecodeError as error:
            raise click.UsageError(f"the password is not a text in UTF-8: {error}") from error


def _dotted(settings: Mapping[str, str]) -> dict[str, str]:
    """Returns settings by Kafka's names: a file may have ours, with underscores."""
    return {key.replace("_", "."): value for key, value in settings.items()}


def password_options(command: Callable[..., Returned]) -> Callable[..., Returned]:
    """Adds the options; the command gets them as one PasswordOptions, `wanted`."""

    @wraps(command)
    def gathered(
        *arguments: Given,
        mechanism_names: tuple[str, ...],
        password_file: str | None,
        generate: bool,
        client_file: Path | None,
        iterations: int,
        **options: Given,
    ) -> Returned:
        wanted = PasswordOptions(
            mechanisms=[MECHANISMS[name] for name in mechanism_names],
            file=password_file,
            is_generated=generate,
            client_file=client_file,
            iterations=iterations,
        )
        return command(*arguments, wanted=wanted, **options)

    for decorate in reversed(_OPTIONS):
        gathered = decorate(gathered)
    return gathered
