"""An application in a program without an event loop."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from millstream.clients.core.illegal_state import IllegalState
from millstream.streams import StreamsConfig
from millstream.streams.application.states import ApplicationState
from millstream.streams.blocking import KafkaStreams
from millstream.streams.queries import KeyQuery, StateQueryRequest
from tests.integration.streams.application.instances import PARTITIONS, Instances
from tests.patience import wait_until

WORDS = [f"w{number % 7}" for number in range(300)]
PROGRAM = dedent(
    """
    import sys
    from millstream.streams import StreamsConfig
    from millstream.streams.blocking import KafkaStreams
    from tests.integration.streams.application.instances import counting

    servers, application, directory = sys.argv[1:]
    config = StreamsConfig(application, processing_guarantee="exactly_once_v2", state_dir=directory)
    topology = counting(f"{application}-in", f"{application}-out")
    app = KafkaStreams(topology, config, {"bootstrap.servers": servers})
    app.run()
    print(app.state)
    """
)


async def test_a_with_block_starts_counts_answers_and_closes(
    instances: Instances, tmp_path: Path
) -> None:
    config = StreamsConfig(
        instances.application, processing_guarantee="exactly_once_v2", state_dir=str(tmp_path)
    )
    seen: list[ApplicationState] = []

    def program() -> KafkaStreams:
        app = KafkaStreams(instances.topology, config, {"bootstrap.servers": instances.servers})
        app.on_state_change(lambda new, _old: seen.append(new))
        wanted = StateQueryRequest("counts", KeyQuery("w1"))

        def value() -> object:
            answered = app.query(wanted).partitions.values()
            return next((each.value for each in answered if each.value is not None), None)

        with app:
            wait_until(lambda: value() == WORDS.count("w1"))
            (thread,) = app.metadata_for_local_threads()
            assert app.tasks == {
                thread.thread_name: frozenset(each.task_id for each in thread.active_tasks)
            }
            assert len(thread.active_tasks) == 2 * PARTITIONS
            app.pause()
            assert app.is_paused
            app.resume()
            assert app.metrics()
        assert app.close()
        with pytest.raises(IllegalState, match="make a new KafkaStreams"):
            app.start()
        return app

    await instances.put(WORDS)
    app = await asyncio.to_thread(program)
    assert (app.state, app.error) == (ApplicationState.NOT_RUNNING, None)
    assert seen == ["REBALANCING", "RUNNING", "PENDING_SHUTDOWN", "NOT_RUNNING"]
    await instances.until_counted(WORDS)


async def test_run_ends_in_order_when_it_is_told_to(instances: Instances, tmp_path: Path) -> None:
    program = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", PROGRAM),
        *(instances.servers, instances.application, str(tmp_path)),
        stdout=asyncio.subprocess.PIPE,
    )
    await instances.put(WORDS)
    await instances.until_counted(WORDS)
    program.send_signal(signal.SIGTERM)
    out, _ = await program.communicate()
    assert (program.returncode, out.decode().strip()) == (0, "NOT_RUNNING")
