"""Names that the Tab key offers: topics, groups and settings, as the cluster tells them within a moment.

What cannot be looked up offers nothing, in silence: a person who presses Tab is writing a line, and a message would
stand in the middle of it.
"""

from __future__ import annotations

import contextlib
import io
import logging
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from millstream.cli.completion.local_names import offered
from millstream.errors import MillstreamError

if TYPE_CHECKING:
    import click
    from click.shell_completion import CompletionItem

    from millstream.clients.blocking import Admin

LIMIT_MS: Final = 1_500
"""Longer nobody waits for the Tab key. A cluster beyond an ocean (150 ms there and back) with TLS
and SCRAM answers within it."""


def topic_names(
    context: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    return offered(_asked(context, lambda admin: admin.list_topics()), incomplete)


def topic_then_files(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Offers a topic as the first argument, and files as the others."""
    from click.shell_completion import CompletionItem

    if context.params.get(parameter.name or "") or context.params.get("topic"):
        return [CompletionItem(incomplete, type="file")]
    return topic_names(context, parameter, incomplete)


def group_names(
    context: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    groups = _asked(context, lambda admin: [each.group_id for each in admin.list_groups()])
    return offered(groups, incomplete)


def resource_names(
    context: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Offers types of resources, and behind a type and a colon the names of that type."""
    from millstream.cli.configs.resources import TYPES, parse_type, resource_text

    word, separator, _ = incomplete.partition(":")
    if not separator or word not in TYPES:
        return offered((f"{each}:" for each in TYPES), incomplete)
    kind = parse_type(word)
    found = _asked(context, lambda admin: map(resource_text, admin.list_config_resources([kind])))
    return offered(found, incomplete)


def config_names(
    context: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Offers the settings of the resource that is named before."""
    return offered(_config_names(context), incomplete)


def config_changes(
    context: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    return offered((f"{name}=" for name in _config_names(context)), incomplete)


def _config_names(context: click.Context) -> list[str]:
    resource = context.params.get("resource")
    if resource is None:
        return []
    return _asked(context, lambda admin: admin.describe_configs([resource]).result(resource))


def _asked(context: click.Context, ask: Callable[[Admin], Iterable[str]]) -> list[str]:
    """Asks the cluster that the options say which stand before what is completed."""
    from click import ClickException

    from millstream.cli.cluster_options import given_cluster

    given = context.params
    logging.disable()  # the process only completes: what is warned of would stand in the line, too
    try:
        with context.scope(cleanup=False), contextlib.redirect_stderr(io.StringIO()):
            cluster = given_cluster(
                given.get("bootstrap"),
                given.get("config_file"),
                given.get("client_properties") or (),
                given.get("profile"),
            )
        limits = {"default.api.timeout.ms": str(LIMIT_MS), "request.timeout.ms": str(LIMIT_MS)}
        with cluster.adding(limits).admin() as admin:
            return list(ask(admin))
    except (MillstreamError, ClickException, OSError):
        return []  # the head of this module says why
    finally:
        logging.disable(logging.NOTSET)
