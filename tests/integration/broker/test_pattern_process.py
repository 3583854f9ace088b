"""The process in which a node works on costly expressions: who pays for them, and that it never outlives its node."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from millstream.errors import InvalidRegularExpression
from millstream.protocol.api import ApiKey
from millstream.protocol.frames import decode_response
from millstream.protocol.generated.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from millstream.protocol.generated.find_coordinator import FindCoordinatorRequest
from millstream.protocol.generated.list_transactions import ListTransactionsRequest
from millstream.testing.broker import Broker
from tests.patience import wait_until
from tests.support.clients.raw_client import RawClient, request_frame

CHEAP, COSTLY = "orders-.*", r"\p{L}{900}"


def process_ids(parent: int) -> list[int]:
    """The pattern processes that `parent` has started, those that have ended left out."""
    return [
        pid for pid in map(int, filter(str.isdigit, os.listdir("/proc")))
        if is_pattern_process(pid) and stat_fields(pid)[1] == str(parent)
    ]  # fmt: skip


def is_pattern_process(pid: int) -> bool:
    try:
        return b"millstream.broker.patterns.program" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return False


def stat_fields(pid: int) -> list[str]:
    """From the state on; all empty of a process that has gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return [""] * 50


def cpu_ticks(pid: int) -> int:
    """Of all its threads, in user and system mode."""
    fields = stat_fields(pid)
    return int(fields[11]) + int(fields[12])


def list_transactions(client: RawClient, pattern: str) -> int:
    request = ListTransactionsRequest(transactional_id_pattern=pattern)
    code: int = client.ask(ApiKey.LIST_TRANSACTIONS, 2, request).error_code
    return code


def heartbeat(client: RawClient, group: str, regex: str) -> ConsumerGroupHeartbeatResponse:
    request = ConsumerGroupHeartbeatRequest(
        group_id=group,
        member_id="m",
        member_epoch=0,
        rebalance_timeout_ms=10_000,
        subscribed_topic_regex=regex,
        topic_partitions=[],
    )
    answer: ConsumerGroupHeartbeatResponse = client.ask(ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, request)
    return answer


def wait_for_coordinator(client: RawClient) -> None:
    client.ask(ApiKey.FIND_COORDINATOR, 4, FindCoordinatorRequest(coordinator_keys=["cheap"]))
    wait_until(lambda: heartbeat(client, "cheap", CHEAP).error_code == 0)


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker(in_process=False) as broker:
        yield broker


@pytest.fixture
def client(broker: Broker) -> Iterator[RawClient]:
    with RawClient(broker.bootstrap_servers) as client:
        yield client


def node_id(broker: Broker) -> int:
    assert broker.pid is not None
    return broker.pid


def only_process(broker: Broker) -> int:
    (pid,) = process_ids(node_id(broker))
    return pid


def test_a_node_that_meets_no_costly_expression_has_no_second_process(
    broker: Broker, client: RawClient
) -> None:
    assert list_transactions(client, CHEAP) == 0
    wait_for_coordinator(client)
    assert process_ids(node_id(broker)) == []


def test_the_node_itself_spends_no_time_on_costly_expressions(
    broker: Broker, client: RawClient
) -> None:
    """CPU of the node's own threads, as the interpreter's lock is held while an expression is compiled."""
    assert list_transactions(client, COSTLY) == 0
    pid, node = only_process(broker), node_id(broker)
    before, node_before = cpu_ticks(pid), cpu_ticks(node)
    for length in range(890, 896):
        assert list_transactions(client, rf"\p{{L}}{{{length}}}") == 0
    spent, node_spent = cpu_ticks(pid) - before, cpu_ticks(node) - node_before
    assert only_process(broker) == pid
    assert spent > 10 * node_spent


def test_a_costly_subscription_gets_its_topics(client: RawClient) -> None:
    client.create_topic("a" * 20)
    wait_for_coordinator(client)

    def partitions() -> int:
        assignment = heartbeat(client, "costly", r"\p{L}{20}").assignment
        return 0 if assignment is None else len(assignment.topic_partitions)

    wait_until(lambda: partitions() == 1)


def test_a_process_that_was_killed_is_started_anew(broker: Broker, client: RawClient) -> None:
    assert list_transactions(client, COSTLY) == 0
    first = only_process(broker)
    os.kill(first, signal.SIGKILL)
    wait_until(lambda: stat_fields(first)[0] in {"Z", ""})  # until then its node cannot know
    assert list_transactions(client, COSTLY) == 0
    assert only_process(broker) != first


def test_an_expression_whose_process_is_killed_is_refused_and_the_next_one_is_not(
    broker: Broker, client: RawClient
) -> None:
    assert list_transactions(client, r"\p{L}{10}") == 0
    pid = only_process(broker)
    os.kill(pid, signal.SIGSTOP)
    client.send(
        request_frame(
            ApiKey.LIST_TRANSACTIONS, 2, ListTransactionsRequest(transactional_id_pattern=COSTLY)
        )
    )
    with RawClient(
        broker.bootstrap_servers
    ) as other:  # answered: so the process has been asked by now
        assert list_transactions(other, CHEAP) == 0
    os.kill(pid, signal.SIGKILL)
    frame = memoryview(client.read_frame())
    answer = decode_response(ApiKey.LIST_TRANSACTIONS, 2, frame)[1]
    assert answer.error_code == InvalidRegularExpression.code  # type: ignore[attr-defined]  # of this message
    assert list_transactions(client, COSTLY) == 0


@pytest.mark.parametrize("is_at_work", [False, True])
def test_a_node_that_is_killed_leaves_no_process(
    broker: Broker, client: RawClient, *, is_at_work: bool
) -> None:
    assert list_transactions(client, COSTLY) == 0
    pid = only_process(broker)
    if is_at_work:
        request = ListTransactionsRequest(transactional_id_pattern=r"\p{L}{899}")
        client.send(request_frame(ApiKey.LIST_TRANSACTIONS, 2, request))
    broker.kill()
    wait_until(lambda: not is_pattern_process(pid))


@pytest.mark.parametrize("in_process", [False, True])
def test_a_node_that_stops_leaves_no_process(*, in_process: bool) -> None:
    with Broker(in_process=in_process) as broker:
        with RawClient(broker.bootstrap_servers) as client:
            assert list_transactions(client, COSTLY) == 0
        (pid,) = process_ids(broker.pid or os.getpid())
        broker.stop()
        assert not is_pattern_process(pid)
        if in_process:
            with pytest.raises(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)


def test_a_client_that_hangs_up_keeps_nobody_waiting(broker: Broker, client: RawClient) -> None:
    assert list_transactions(client, COSTLY) == 0
    stopped = only_process(broker)
    os.kill(stopped, signal.SIGSTOP)  # it would never answer
    with RawClient(broker.bootstrap_servers) as impatient:
        request = ListTransactionsRequest(transactional_id_pattern=COSTLY)
        impatient.send(request_frame(ApiKey.LIST_TRANSACTIONS, 2, request))
        assert list_transactions(client, CHEAP) == 0
    wait_until(lambda: not is_pattern_process(stopped))
    assert list_transactions(client, COSTLY) == 0
