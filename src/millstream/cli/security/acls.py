"""`millstream acls`: list, add and remove access rules, and explain which of them decides."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Final, TypeVar

import click

from millstream.cli.cluster_options import ClusterOptions, Given, cluster_options
from millstream.cli.command import ClientGroup
from millstream.cli.rows import (
    confirm,
    dry_run_option,
    finish,
    for_people,
    note,
    output_option,
    print_rows,
    yes_option,
)
from millstream.cli.security.explain import explain
from millstream.cli.security.resource_options import NamedResources, resource_options
from millstream.cli.security.rule_plans import WantedRules, What, Whom, filter_of, planned_rules
from millstream.cli.security.words import (
    OPERATION,
    PATTERN_TO_ADD,
    PATTERN_TO_FIND,
    PERMISSION,
    PRINCIPAL,
    RULE_COLUMNS,
    rule_row,
)
from millstream.quoting import counted
from millstream.security.acl import Operation, PatternType, PermissionType

if TYPE_CHECKING:
    from millstream.clients.admin import AclBinding, Results
    from millstream.clients.blocking import Admin
    from millstream.errors import KafkaError
    from millstream.security.acl_filter import AclFilter

Returned = TypeVar("Returned")
_COLUMNS: Final = (*RULE_COLUMNS, "result")
_principals = click.option(
    "--principal", "principals", type=PRINCIPAL, multiple=True, metavar="NAME",
    help="Whom a rule names: User:alice, or alice. May be repeated.",
)  # fmt: skip
_hosts = click.option(
    "--host", "hosts", multiple=True, help="The address that a rule names, or `*`."
)
_operations = click.option(
    "--operation", "operations", type=OPERATION, multiple=True, metavar="OPERATION",
    help="Read, Write, Create, Delete, Alter, Describe, ClusterAction, DescribeConfigs, AlterConfigs, IdempotentWrite, "
    "CreateTokens, DescribeTokens, TwoPhaseCommit or All. May be repeated.",
)  # fmt: skip
_permission = click.option(
    "--permission", type=PERMISSION, metavar="[allow|deny]", help="Only rules that do so."
)


def _wanted_options(
    pattern: PatternType, help_of_pattern: str
) -> Callable[[Callable[..., Returned]], Callable[..., Returned]]:
    """Adds options that name rules; the command gets them as one WantedRules, `wanted`, and how
    resources are meant as `pattern`.
    """

    def decorate(command: Callable[..., Returned]) -> Callable[..., Returned]:
        @wraps(command)
        def gathered(
            *,
            principals: tuple[str, ...],
            hosts: tuple[str, ...],
            operations: tuple[Operation, ...],
            permission: PermissionType | None,
            resources: NamedResources,
            **options: Given,
        ) -> Returned:
            wanted = WantedRules(
                principals=principals, hosts=hosts, operations=operations, permission=permission, resources=tuple(resources),
            )  # fmt: skip
            return command(wanted=wanted, **options)

        option = click.option(
            "--resource-pattern-type", "--pattern", "pattern", type=PATTERN_TO_FIND, default=pattern,
            metavar="[any|match|literal|prefixed]", help=help_of_pattern,
        )  # fmt: skip
        with_resources = resource_options(option(gathered))
        return _principals(_hosts(_operations(_permission(with_resources))))

    return decorate


@click.group(cls=ClientGroup)
def acls() -> None:
    """List, add, remove and explain access rules (ACLs)."""


@acls.command("list")
@cluster_options
@output_option
@_wanted_options(
    PatternType.MATCH,
    "Rules that cover the resources named (match, the default), that name them (any), or name them so.",
)
def list_command(
    *,
    cluster: ClusterOptions,
    output: str,
    wanted: WantedRules,
    pattern: PatternType,
) -> None:
    """List rules, those of the users and resources that are named, or all."""
    with cluster.admin() as admin:
        found = _found(admin, wanted, pattern)
    print_rows(map(rule_row, found), output, RULE_COLUMNS)
    if not found:
        note("no rule" if wanted else "there are no rules: millstream acls add makes one", output)


@acls.command()
@cluster_options
@output_option
@click.option(
    "--allow-principal", "allowed", type=PRINCIPAL, multiple=True, metavar="NAME",
    help="Who may: User:alice, or alice; User:* for everybody. May be repeated.",
)  # fmt: skip
@click.option(
    "--deny-principal", "denied", type=PRINCIPAL, multiple=True, metavar="NAME", help="Who may not, whatever else allows it."
)  # fmt: skip
@click.option("--allow-host", "allowed_hosts", multiple=True, help="From this address only.")
@click.option("--deny-host", "denied_hosts", multiple=True, help="Not from this address.")
@_operations
@click.option(
    "--producer",
    is_flag=True,
    help="What a producer to the --topic needs; in transactions with --transactional-id.",
)
@click.option(
    "--consumer", is_flag=True, help="What a consumer of the --topic needs in the --group."
)
@click.option(
    "--idempotent",
    is_flag=True,
    help="With --producer, for clusters before Kafka 2.8: idempotent writes.",
)
@resource_options
@click.option(
    "--resource-pattern-type", "--pattern", "pattern", type=PATTERN_TO_ADD, default=PatternType.LITERAL, metavar="[literal|prefixed]",
    help="prefixed: all resources whose names begin so.",
)  # fmt: skip
@dry_run_option
def add(
    *,
    cluster: ClusterOptions,
    output: str,
    allowed: tuple[str, ...],
    denied: tuple[str, ...],
    allowed_hosts: tuple[str, ...],
    denied_hosts: tuple[str, ...],
    operations: tuple[Operation, ...],
    producer: bool,
    consumer: bool,
    idempotent: bool,
    resources: NamedResources,
    pattern: PatternType,
    dry_run: bool,
) -> None:
    """Add rules. One that is there already is no error.

    millstream acls add --allow-principal alice --operation Read --topic orders --group app
    """
    rules = planned_rules(
        [
            Whom(permission=PermissionType.ALLOW, principals=allowed, hosts=allowed_hosts),
            Whom(permission=PermissionType.DENY, principals=denied, hosts=denied_hosts),
        ],
        What(
            resources=tuple(resources), pattern=pattern, operations=operations,
            producer=producer, consumer=consumer, idempotent=idempotent,
        ),
    )  # fmt: skip
    with cluster.admin() as admin:
        if dry_run:
            there = set(admin.describe_acls())
            rows = [
                rule_row(rule) | {"result": "exists already" if rule in there else "would be added"}
                for rule in rules
            ]
            print_rows(rows, output, _COLUMNS)
            return
        errors = admin.create_acls(rules).errors()
    rows = [rule_row(rule) | {"result": "added"} for rule in rules if rule not in errors]
    print_rows(rows, output, _COLUMNS)
    finish(errors, output)


@acls.command()
@cluster_options
@output_option
@_wanted_options(
    PatternType.ANY,
    "Rules that name the resources (any, the default), name them so, or cover them (match).",
)
@click.option("--all", "all_rules", is_flag=True, help="All rules of the cluster.")
@yes_option
@dry_run_option
def remove(
    *,
    cluster: ClusterOptions,
    output: str,
    wanted: WantedRules,
    pattern: PatternType,
    all_rules: bool,
    yes: bool,
    dry_run: bool,
) -> None:
    """Remove the rules that have all that is named. It shows them first, and asks at a terminal."""
    if bool(wanted) == all_rules:
        raise click.UsageError("say which rules: --principal, --topic, ..., or --all by itself")
    with cluster.admin() as admin:
        found = _found(admin, wanted, pattern)
        if dry_run or not found:
            rows = [rule_row(rule) | {"result": "would be removed"} for rule in found]
            print_rows(rows, output, _COLUMNS)
            if not found:
                note("no rule", output)
            return
        if for_people(output) and not yes:
            print_rows(map(rule_row, found), output, RULE_COLUMNS)
        confirm(f"Remove {counted(len(found), 'rule')}", yes=yes)
        errors = _errors(admin.delete_acls([filter_of(rule) for rule in found]))
    rows = [
        rule_row(rule) | {"result": "removed"} for rule in found if filter_of(rule) not in errors
    ]
    print_rows(rows, output, _COLUMNS)
    finish(errors, output)


acls.add_command(explain)


def _found(admin: Admin, wanted: WantedRules, pattern: PatternType) -> list[AclBinding]:
    """The rules that are wanted, each once, those of one resource together, in an order that is always the same."""
    found = {rule for each in wanted.filters(pattern) for rule in admin.describe_acls(each)}
    return sorted(
        found,
        key=lambda rule: (
            rule.resource_type,
            rule.resource_name,
            rule.pattern_type,
            rule.principal,
            rule.permission_type,
            rule.operation,
            rule.host,
        ),
    )


def _errors(deleted: Results[AclFilter, Results[AclBinding, None]]) -> dict[AclFilter, KafkaError]:
    """Of filters, and of the one rule that each of them finds."""
    errors = deleted.errors()
    for each in deleted.keys() - errors.keys():
        for error in deleted.result(each).errors().values():
            errors[each] = error
    return errors
