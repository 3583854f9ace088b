"""The query server answers from standby copies while the host of the active task is away, if the question allows it (KIP-535)."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter

from millstream.clients.admin import AlterConfig, ConfigResource, ConfigResourceType
from millstream.streams.host_info import HostInfo
from millstream.streams.query_server import QueryServer
from tests.integration.streams.application import served_instance
from tests.integration.streams.application.instances import PARTITIONS, Instances
from tests.integration.streams.application.test_interactive_queries import asked, free_port
from tests.patience import LONG_ENOUGH_MS, eventually

WORDS = [f"w{number % 23}" for number in range(200)]
COUNTS = Counter(WORDS)
MODULE = served_instance.__name__


async def test_copies_answer_for_an_instance_that_was_killed_where_that_is_allowed(
    instances: Instances,
) -> None:
    group = ConfigResource(ConfigResourceType.GROUP, instances.application)
    late = AlterConfig("streams.session.timeout.ms", str(LONG_ENOUGH_MS))
    (await instances.admin.incremental_alter_configs({group: [late]})).raise_errors()
    await instances.put(WORDS)
    port, other_port = free_port(), free_port()
    app = instances.new(application_server=f"127.0.0.1:{port}", num_standby_replicas=1)
    arguments = [instances.servers, str(instances.directory / "other"), instances.application]
    other = await asyncio.create_subprocess_exec(
        sys.executable, "-m", MODULE, *arguments, f"127.0.0.1:{other_port}"
    )
    try:
        async with QueryServer(app), app:
            await instances.until_counted(WORDS)

            async def copies_lack_nothing() -> bool:
                places = [await app.query_metadata_for_key("counts", word) for word in COUNTS]
                hosts = {HostInfo("127.0.0.1", each) for each in (port, other_port)}
                if not all({each.active_host, *each.standby_hosts} == hosts for each in places):
                    return False
                lags = (await app.all_local_store_partition_lags())["counts"]
                return len(lags) == PARTITIONS and not any(lag.offset_lag for lag in lags.values())

            await eventually(copies_lack_nothing)
            other.kill()
            await other.wait()
            statuses = [(await asked(port, f"/stores/counts/keys/{word}"))[0] for word in COUNTS]
            assert set(statuses) == {200, 503}, "only its own keys without a copy"
            for allowed in ("stale=true", "max_lag=0"):
                answers = {
                    word: await asked(port, f"/stores/counts/keys/{word}?{allowed}")
                    for word in COUNTS
                }
                assert {status for status, _ in answers.values()} == {200}
                assert {word: found["value"] for word, (_, found) in answers.items()} == COUNTS
                stale = [found["is_stale"] for _, found in answers.values()]
                assert stale == [status == 503 for status in statuses]
                status, rows = await asked(port, f"/stores/counts/rows?{allowed}")
                assert (status, rows["is_stale"]) == (200, True)
                assert {row["key"]: row["value"] for row in rows["rows"]} == COUNTS
            assert (await asked(port, "/stores/counts/rows"))[0] == 503
    finally:
        if other.returncode is None:
            other.kill()
            await other.wait()
