"""`millstream tokens`: delegation tokens, with which programs log in as somebody without a password of theirs (KIP-48).

A token is named by its id. Its HMAC, which is what logs in, is printed once, by `create`, and is needed for nothing
here: brokers tell the HMACs of tokens to those whom they concern.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Final

import click

from millstream.cli.cluster_options import ClusterOptions, cluster_options
from millstream.cli.command import ClientGroup
from millstream.cli.records.offset_choice import duration_ms
from millstream.cli.rows import confirm, dry_run_option, note, output_option, print_rows, yes_option
from millstream.cli.security.words import PRINCIPAL, principal_of
from millstream.errors import DelegationTokenNotFound

if TYPE_CHECKING:
    from millstream.clients.admin import DelegationToken
    from millstream.clients.blocking import Admin

_COLUMNS: Final = (
    "token_id",
    "owner",
    "requester",
    "renewers",
    "issued",
    "expires",
    "expires_at_last",
)
_CREATED_COLUMNS: Final = ("token_id", "hmac", "owner", "expires", "expires_at_last")
_CHANGED_COLUMNS: Final = ("token_id", "expires", "result")
_BROKER_DECIDES_MS: Final = -1
_AT_ONCE_MS: Final = -1
_NOT_ASKED: Final = "whether you may is asked only when it is done"
"""Brokers have no request that checks it and does nothing."""
_period = click.option(
    "--for", "period", metavar="DURATION", help="How long it is good from now on, such as 12h or 7d.  [default: what brokers are set to]",
)  # fmt: skip


@click.group(cls=ClientGroup)
def tokens() -> None:
    """List, create, renew and expire delegation tokens."""


@tokens.command("list")
@cluster_options
@output_option
@click.option(
    "--owner", "owners", type=PRINCIPAL, multiple=True, metavar="NAME", help="Only tokens of this user; may be repeated."
)  # fmt: skip
def list_command(*, cluster: ClusterOptions, output: str, owners: tuple[str, ...]) -> None:
    """List the tokens that you may see."""
    with cluster.admin() as admin:
        found = admin.describe_delegation_token(
            owners=[principal_of(owner) for owner in owners] if owners else None
        )
    print_rows([_row(token) for token in found], output, _COLUMNS)
    if not found:
        note("there are no tokens that you may see: millstream tokens create makes one", output)


@tokens.command()
@cluster_options
@output_option
@click.option("--owner", type=PRINCIPAL, metavar="NAME", help="As whom it logs in.  [default: you]")
@click.option(
    "--renewer", "renewers", type=PRINCIPAL, multiple=True, metavar="NAME", help="Who may renew it beside its owner; may be repeated."
)  # fmt: skip
@click.option(
    "--max-life", metavar="DURATION", help="When it ends at last, however often it is renewed, such as 7d.  [default: what brokers are set to]"
)  # fmt: skip
@dry_run_option
def create(
    *,
    cluster: ClusterOptions,
    output: str,
    owner: str | None,
    renewers: tuple[str, ...],
    max_life: str | None,
    dry_run: bool,
) -> None:
    """Create a token, and print its id and its HMAC, which stand for name and password of a login by SCRAM."""
    life_ms = _BROKER_DECIDES_MS if max_life is None else duration_ms(max_life)
    with cluster.admin() as admin:
        if dry_run:
            admin.describe_delegation_token(
                owners=[]
            )  # whether there are tokens, and this login may have them
            note(f"a token of {owner or 'yours'} would be created; {_NOT_ASKED}", output)
            return
        token = admin.create_delegation_token(
            owner=None if owner is None else principal_of(owner),
            renewers=[principal_of(renewer) for renewer in renewers],
            max_lifetime_ms=life_ms,
        )
    row = _row(token) | {"hmac": base64.b64encode(token.hmac).decode()}
    print_rows([row], output, _CREATED_COLUMNS)


@tokens.command()
@cluster_options
@output_option
@click.argument("token_id", metavar="TOKEN")
@_period
@dry_run_option
def renew(
    token_id: str, *, cluster: ClusterOptions, output: str, period: str | None, dry_run: bool
) -> None:
    """Have the token with this id be good for longer, up to its last end."""
    period_ms = _BROKER_DECIDES_MS if period is None else duration_ms(period)
    with cluster.admin() as admin:
        token = _token(admin, token_id)
        if dry_run:
            _print_changed(token.token_id, token.expiry_timestamp_ms, "would be renewed", output)
            note(_NOT_ASKED, output)
            return
        expires_ms = admin.renew_delegation_token(token.hmac, renew_period_ms=period_ms)
    _print_changed(token_id, expires_ms, "renewed", output)


@tokens.command()
@cluster_options
@output_option
@click.argument("token_id", metavar="TOKEN")
@click.option("--after", metavar="DURATION", help="When it ends, from now on.  [default: at once]")
@yes_option
@dry_run_option
def expire(
    token_id: str,
    *,
    cluster: ClusterOptions,
    output: str,
    after: str | None,
    yes: bool,
    dry_run: bool,
) -> None:
    """End the token with this id, at once or after a while.

    Nobody logs in with it any more; open sessions stay until they end.
    """
    after_ms = _AT_ONCE_MS if after is None else duration_ms(after)
    with cluster.admin() as admin:
        token = _token(admin, token_id)
        if dry_run:
            _print_changed(token.token_id, token.expiry_timestamp_ms, "would be ended", output)
            note(_NOT_ASKED, output)
            return
        confirm(f"End token {token_id} of {token.owner}", yes=yes)
        expires_ms = admin.expire_delegation_token(token.hmac, expiry_period_ms=after_ms)
    _print_changed(token_id, expires_ms, "ended" if after is None else "ends", output)


def _token(admin: Admin, token_id: str) -> DelegationToken:
    for token in admin.describe_delegation_token():
        if token.token_id == token_id:
            return token
    raise DelegationTokenNotFound(f"you may see no token with the id {token_id}")


def _row(token: DelegationToken) -> dict[str, object]:
    return {
        "token_id": token.token_id,
        "owner": str(token.owner),
        "requester": None if token.requester is None else str(token.requester),
        "renewers": [str(renewer) for renewer in token.renewers],
        "issued": _time(token.issue_timestamp_ms),
        "expires": _time(token.expiry_timestamp_ms),
        "expires_at_last": _time(token.max_timestamp_ms),
    }


def _print_changed(token_id: str, expires_ms: int, result: str, output: str) -> None:
    row = {"token_id": token_id, "expires": _time(expires_ms), "result": result}
    print_rows([row], output, _CHANGED_COLUMNS)


def _time(time_ms: int) -> str:
    """As others of these verbs print times: UTC, to the second."""
    from datetime import UTC, datetime

    return datetime.fromtimestamp(time_ms / 1000, UTC).isoformat(timespec="seconds")
