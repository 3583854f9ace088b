"""`millstream acls explain USER OPERATION RESOURCE`: whether a user may, and the rule that decides, by the
code that brokers decide with.

Exit code 0: allowed; 1: denied. Two settings of brokers decide, too, and brokers tell nobody their values, as Kafka's:
`super.users` and `allow.everyone.if.no.acl.found`. They are read from a file of the node's settings where one is given;
else it is said what they would change.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from millstream.cli.cluster_options import ClusterOptions, cluster_options
from millstream.cli.command import FAILED, ClientCommand
from millstream.cli.rows import for_people, output_option, print_rows
from millstream.cli.security.words import (
    OPERATION,
    check_supported,
    parse_resource,
    principal_of,
    rule_row,
    rule_words,
    spelled,
)
from millstream.cli.terminal import printable
from millstream.errors import SecurityDisabled
from millstream.security.acl import AccessControlRule, Operation, Resource
from millstream.security.authorizer import DEFAULT_ALLOW, DEFAULT_DENY, SUPER_USER, Decision
from millstream.security.principal import KafkaPrincipal, host_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_NO_RULE_NAMES_IT: Final = ""
"""The host where none was given: rules for all hosts decide then."""
_NO_AUTHORIZER: Final = Decision(is_allowed=True, by="NoAuthorizer")
_REASONS: Final = {
    DEFAULT_ALLOW.by: "no rule covers it, and allow.everyone.if.no.acl.found is true",
    DEFAULT_DENY.by: "no rule allows it",
    SUPER_USER.by: "it is one of super.users, whatever the rules say",
    _NO_AUTHORIZER.by: "the cluster has no authorizer: everybody may do everything",
}


@dataclass(frozen=True, slots=True)
class Question:
    """May this user, from this host, do this with that?"""

    principal: KafkaPrincipal
    client_host: str
    operation: Operation
    resource: Resource

    def __str__(self) -> str:
        return f"{spelled(self.operation)} {spelled(self.resource.type)} {self.resource.name}"


def decided(
    question: Question, rules: Iterable[AccessControlRule], settings: Mapping[str, str]
) -> Decision:
    """Returns what a broker with these settings and rules decides."""
    from millstream.broker.config.security_table import SECURITY_ROWS
    from millstream.config_fields import read_config
    from millstream.metadata.config_key import parse_config
    from millstream.security.authorizer_settings import AuthorizerSettings
    from millstream.security.standard_authorizer import StandardAuthorizer

    table = {row.name: row for row in SECURITY_ROWS}
    known = {key: value for key, value in settings.items() if key in table}
    authorizer = StandardAuthorizer(read_config(AuthorizerSettings, parse_config(table, known)))
    authorizer.change(removed=(), added=rules)
    resource = question.resource
    return authorizer.decide(question, question.operation, resource.type, resource.name)


@click.command(cls=ClientCommand)
@cluster_options
@output_option
@click.argument("user")
@click.argument("operation", type=OPERATION)
@click.argument("resource")
@click.option(
    "--host",
    help="The address that the user comes from. Without it only rules for all hosts count.",
)
@click.option(
    "--server-config", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE",
    help="Settings of a node, for super.users and allow.everyone.if.no.acl.found, which brokers tell nobody.",
)  # fmt: skip
def explain(
    user: str,
    operation: Operation,
    resource: str,
    *,
    cluster: ClusterOptions,
    output: str,
    host: str | None,
    server_config: Path | None,
) -> None:
    """Say whether USER may do OPERATION with RESOURCE, and which rule decides. Exit code 0: allowed, 1: denied.

    RESOURCE is topic:NAME, group:NAME, transactional-id:NAME, delegation-token:ID, user:User:NAME or cluster.
    """
    from millstream.clients.properties_file import properties_of

    named = parse_resource(resource)
    check_supported(operation, named.type)
    question = Question(principal_of(user), host_text(host or _NO_RULE_NAMES_IT), operation, named)
    settings = None if server_config is None else properties_of(server_config)
    with cluster.admin() as admin:
        try:
            rules = admin.describe_acls()
        except SecurityDisabled:
            rules, decision = [], _NO_AUTHORIZER
        else:
            decision = decided(question, rules, settings or {})
    if for_people(output):
        for line in _lines(question, decision, rules, are_settings_known=settings is not None):
            click.echo(printable(line))
    else:
        print_rows([_row(question, decision)], output, ())
    if not decision.is_allowed:
        sys.exit(FAILED)


def _lines(
    question: Question,
    decision: Decision,
    rules: Iterable[AccessControlRule],
    *,
    are_settings_known: bool,
) -> list[str]:
    who = question.principal
    lines = [f"{'allowed' if decision.is_allowed else 'denied'}: {who} {question}"]
    if isinstance(decision.by, str):
        lines.append(f"  because {_REASONS[decision.by]}")
    else:
        lines.append(f"  because of the rule {rule_words(decision.by)}")
    if not decision.is_allowed and not are_settings_known:
        lines.append(
            "  unless super.users or allow.everyone.if.no.acl.found of the brokers say otherwise, which they tell nobody: --server-config FILE reads them"
        )
    if question.client_host == _NO_RULE_NAMES_IT:
        hosts = sorted(
            {rule.host for rule in rules if rule.principal in {who.text, "User:*"}} - {"*"}
        )
        if hosts:
            lines.append(
                f"  rules for single hosts did not count ({', '.join(hosts)}): give one with --host"
            )
    return lines


def _row(question: Question, decision: Decision) -> dict[str, object]:
    by = decision.by
    return {
        "principal": question.principal.text,
        "operation": question.operation.name,
        "resource_type": question.resource.type.name,
        "resource": question.resource.name,
        "host": question.client_host or None,
        "allowed": decision.is_allowed,
        "by": by if isinstance(by, str) else "MatchingAcl",
        "rule": None if isinstance(by, str) else rule_row(by),
    }
