"""Three of ten answers to producers are lost while leaders are killed and stopped: every record is written once."""

from __future__ import annotations

import pytest

from millstream.model import TopicPartition
from millstream.protocol.api import ApiKey
from millstream.testing import CloseAfter, FaultProxy, History, Rule
from tests.soak.cluster.world import KILLS, LIMIT_S, check_history, say
from tests.soak.replication.pipelines import LibrdkafkaPipeline, OurPipeline, Pipeline
from tests.soak.replication.world import (
    TOPIC,
    all_in_sync,
    check_replicas_are_equal,
    leader_of,
    replicated,
    wait_until,
)

PARTITIONS = 3
LOST = 0.3
SEED = 11

pytestmark = [
    pytest.mark.nodes,
    pytest.mark.soak,
    pytest.mark.compat,
    pytest.mark.timeout(LIMIT_S * (3 + 2 * KILLS)),
]


@pytest.mark.parametrize("kind", [OurPipeline, LibrdkafkaPipeline], ids=["ours", "librdkafka"])
def test_what_was_taken_and_not_answered_is_not_written_again(kind: type[Pipeline]) -> None:
    """The broker has each of these batches when its connection ends, and the next leader knows that too."""
    history = History()
    rules = [Rule(CloseAfter(), [ApiKey.PRODUCE], probability=LOST)]
    with replicated(PARTITIONS) as cluster:
        with FaultProxy(cluster.bootstrap_servers, rules, seed=SEED) as proxy:
            with kind(proxy.bootstrap_servers, "sender", TOPIC, PARTITIONS, history) as sender:
                for turn in range(2 * KILLS):
                    sender.goes_on()
                    leader = leader_of(cluster, turn % PARTITIONS)
                    (cluster.stop if turn % 2 else cluster.kill)(leader)
                    sender.goes_on()
                    cluster.restart(leader)
                    wait_until(cluster, TOPIC, all_in_sync)
                sender.goes_on()
            lost = proxy.plan.hits[0]
            asked = sum(request.key is ApiKey.PRODUCE for request in proxy.requests)
        assert sender.errors == []
        check_history(cluster, history, [TopicPartition(TOPIC, n) for n in range(PARTITIONS)])
        check_replicas_are_equal(cluster, PARTITIONS)
        say(f"{lost} of {asked} answers lost, {sender.acknowledged.total()} records")
        assert lost > 100
