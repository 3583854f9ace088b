"""Who looks after topics, groups and applications at the terminal: each row of the guide's tables is what its verb asks for."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Final

import pytest
from click.testing import CliRunner, Result

from millstream.cli.command import NOT_AUTHORIZED
from millstream.cli.main import main
from millstream.clients import Consumer
from millstream.clients.admin import Operation
from tests.compat.permissions.users import KafkaWithUsers
from tests.integration.rights.cases import Case
from tests.patience import LONG_ENOUGH_MS
from tests.support.rights import Right, rights

TOPICS, GROUPS, APPLICATION = (
    "Who looks after topics",
    "Who looks after groups",
    "Who looks after an application",
)
IMPLYING: Final = {
    Operation.DESCRIBE: {Operation.DELETE, Operation.ALTER},
    Operation.DESCRIBE_CONFIGS: {Operation.ALTER_CONFIGS},
}
NAMES = ("shop-", "billing", "orders", "counting")
OF_TOPICS: Final[dict[Operation, tuple[str, ...]]] = {
    Operation.CREATE: ("topics", "create", "shop-new"),
    Operation.DELETE: ("topics", "delete", "--yes", "shop-old"),
    Operation.ALTER: ("topics", "alter", "--partitions", "2", "shop-old"),
    Operation.ALTER_CONFIGS: ("topics", "alter", "--config", "retention.ms=1", "shop-old"),
}


def run(case: Case, *words: str) -> Result:
    """A verb as the user; names of the guide in it are those of the case."""
    named = [case.name(word) if word.startswith(NAMES) else word for word in words]
    options = [f"--client-property={key}={value}" for key, value in case.settings.items()]
    result = CliRunner().invoke(main, [*named[:2], *options, *named[2:]])
    assert "Traceback" not in result.output
    return result


def case_of(kafka: KafkaWithUsers, allowed: Sequence[Right]) -> Case:
    return asyncio.run(Case.of(kafka, allowed))


@pytest.mark.parametrize("operation", OF_TOPICS)
def test_a_right_to_topics_is_what_its_verb_asks_for(
    kafka: KafkaWithUsers, operation: Operation
) -> None:
    rows = rights(TOPICS)
    mine = case_of(kafka, [each for each in rows if each.operation is operation])
    asyncio.run(mine.create("shop-old"))
    done = run(mine, *OF_TOPICS[operation])
    assert done.exit_code == 0, done.output

    others = {operation, *IMPLYING.get(operation, ())}
    not_mine = case_of(kafka, [each for each in rows if each.operation not in others])
    asyncio.run(not_mine.create("shop-old"))
    refused = run(not_mine, *OF_TOPICS[operation])
    assert refused.exit_code == NOT_AUTHORIZED, refused.output
    assert "Not authorized" in refused.output
    assert "its user needs" in refused.output


def test_topics_are_listed_and_described_to_those_who_may(kafka: KafkaWithUsers) -> None:
    rows = {each.operation: each for each in rights(TOPICS)}
    sees = case_of(kafka, [rows[Operation.DESCRIBE], rows[Operation.DESCRIBE_CONFIGS]])
    lists = case_of(kafka, [rows[Operation.DESCRIBE]])
    hides = case_of(kafka, [rows[Operation.DESCRIBE_CONFIGS]])
    for case in (sees, lists, hides):
        asyncio.run(case.create("shop-old"))
    assert run(sees, "topics", "describe", "shop-old").exit_code == 0
    assert run(lists, "topics", "describe", "shop-old").exit_code == NOT_AUTHORIZED
    assert run(hides, "topics", "describe", "shop-old").exit_code == NOT_AUTHORIZED
    for case in (sees, lists):
        assert run(case, "topics", "list").output == f"{case.name('shop-old')}\n"
    assert run(hides, "topics", "list").stdout == ""


def committed(case: Case) -> None:
    """A group without members that has read the topic `orders`."""

    async def commit() -> None:
        await case.create("orders", records=2)
        settings = case.kafka.admin_settings
        async with Consumer(
            **settings, group_id=case.name("billing"), auto_offset_reset="earliest"
        ) as consumer:
            consumer.subscribe([case.name("orders")])
            await consumer.poll(timeout_ms=LONG_ENOUGH_MS)
            await consumer.commit()

    asyncio.run(commit())


def test_who_looks_after_groups_may_do_so(kafka: KafkaWithUsers) -> None:
    case = case_of(kafka, rights(GROUPS))
    committed(case)
    (row,) = json.loads(run(case, "groups", "describe", "billing", "--output", "json").output)
    assert (row["topic"], row["current_offset"], row["lag"]) == (case.name("orders"), 2, 0)
    assert run(case, "groups", "delete", "--yes", "billing").exit_code == 0


@pytest.mark.parametrize("lacking", rights(GROUPS), ids=str)
def test_who_looks_after_groups_and_lacks_a_right(kafka: KafkaWithUsers, lacking: Right) -> None:
    others = {lacking.operation, *IMPLYING.get(lacking.operation, ())}
    allowed = [
        each
        for each in rights(GROUPS)
        if each.resource_type is not lacking.resource_type or each.operation not in others
    ]
    case = case_of(kafka, allowed)
    committed(case)
    described = run(case, "groups", "describe", "billing", "--output", "json")
    if lacking.name == "orders":
        assert case.name("orders") not in described.output
    elif lacking.operation is Operation.DESCRIBE:
        assert described.exit_code == NOT_AUTHORIZED, described.output
        assert f"{case.name('billing')}: Not authorized for this group" in described.output
    else:
        refused = run(case, "groups", "delete", "--yes", "billing")
        assert refused.exit_code == NOT_AUTHORIZED, refused.output
        assert f"{case.name('billing')}: Not authorized for this group" in refused.output


def begun(case: Case) -> None:
    """What there is of an application that does not run: its group, its topics."""

    async def begin() -> None:
        await case.create("clicks", records=2)
        await case.create("counting-by-value-repartition")
        settings = case.kafka.admin_settings
        async with Consumer(
            **settings, group_id=case.name("counting"), auto_offset_reset="earliest"
        ) as consumer:
            consumer.subscribe([case.name("clicks")])
            await consumer.poll(timeout_ms=LONG_ENOUGH_MS)
            await consumer.commit()

    asyncio.run(begin())


VERBS: Final = (
    ("pipeline", "status", "counting", "--output", "json"),
    ("pipeline", "pause", "counting"),
    ("pipeline", "resume", "counting"),
    ("pipeline", "reset", "--yes", "counting"),
)


def test_who_looks_after_an_application_may_do_so(kafka: KafkaWithUsers) -> None:
    case = case_of(kafka, rights(APPLICATION))
    begun(case)
    for verb in VERBS:
        done = run(case, *verb)
        assert done.exit_code == 0, done.output
    assert run(case, "topics", "list").output == f"{case.name('clicks')}\n"


@pytest.mark.parametrize(
    ("operation", "name", "refused"),
    [
        (Operation.CREATE, "counting-millstream-paused", "pause"),
        (Operation.DELETE, "counting-", "resume"),
        (Operation.DELETE, "counting", "reset"),
    ],
)
def test_who_looks_after_an_application_and_lacks_a_right(
    kafka: KafkaWithUsers, operation: Operation, name: str, refused: str
) -> None:
    rows = rights(APPLICATION)
    (lacking,) = [each for each in rows if each.operation is operation and each.name == name]
    case = case_of(kafka, [each for each in rows if each != lacking])
    begun(case)
    for verb in VERBS:
        result = run(case, *verb)
        if verb[1] == refused:
            break
        assert result.exit_code == 0, result.output
    assert result.exit_code == NOT_AUTHORIZED, result.output
    assert "Not authorized" in result.output
