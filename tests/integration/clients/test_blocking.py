"""The blocking twins: the same behaviour from plain code, from many threads, after a fork."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable

import pyarrow as pa
import pytest

from millstream.clients import NewTopic, TopicPartition, blocking
from millstream.clients.blocking.loop_thread import shared
from millstream.errors import UnknownTopicOrPartition
from millstream.net.client.tasks import WrongEventLoop
from tests.patience import LONG_ENOUGH_S, wait_until

NewName = Callable[[], str]


def test_records_and_arrow_go_in_and_come_out(bootstrap: str, new_topic: NewName) -> None:
    topic = new_topic()
    rows = pa.RecordBatch.from_pydict({"value": pa.array([b"b", b"c"], pa.binary())})
    with blocking.Producer(bootstrap_servers=bootstrap) as producer:
        assert producer.send(topic, b"a", timestamp_ms=9).result() == (topic, 0, 0, 9)
        assert [metadata.offset for metadata in producer.send_batch(topic, rows).result()] == [1]
    settings = {
        "bootstrap_servers": bootstrap,
        "group_id": f"g-{topic}",
        "auto_offset_reset": "earliest",
    }
    with blocking.Consumer(**settings) as consumer:
        consumer.subscribe([topic])
        assert [next(consumer).value for _ in range(2)] == [b"a", b"b"]
        consumer.commit()
        partition = TopicPartition(topic, 0)
        assert consumer.committed([partition])[partition].offset == 2
    with blocking.RangeReader(bootstrap_servers=bootstrap) as reader:
        assert reader.offsets(topic, -1) == {0: 3}
        batches = list(reader.read(topic, 0, 1, 3))
        assert [v for batch in batches for v in batch.column("value").to_pylist()] == [b"b", b"c"]


def test_threads_share_a_producer(bootstrap: str, new_topic: NewName) -> None:
    topic = new_topic()
    with blocking.Producer(bootstrap_servers=bootstrap, linger_ms=1) as producer:

        def work(name: int) -> None:
            for number in range(500):
                producer.send(topic, b"%d %d" % (name, number))

        threads = [threading.Thread(target=work, args=(name,)) for name in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        producer.flush()
    with blocking.RangeReader(bootstrap_servers=bootstrap) as reader:
        values = [
            value
            for batch in reader.read(topic, 0, 0, 2000)
            for value in batch.column("value").to_pylist()
        ]
    for name in range(4):
        mine = [value for value in values if value.startswith(b"%d " % name)]
        assert mine == [b"%d %d" % (name, number) for number in range(500)]


def test_admin_results_hold_errors_until_asked(bootstrap: str, new_topic: NewName) -> None:
    topic = new_topic()
    with blocking.Admin(bootstrap_servers=bootstrap) as admin:
        created = admin.create_topics([NewTopic(topic, 2)]).raise_errors()
        assert created.result(topic).name == topic
        described = admin.describe_topics([topic, "nowhere"])
        assert len(described.result(topic).partitions) == 2
        with pytest.raises(UnknownTopicOrPartition, match="nowhere"):
            described.result("nowhere")
        assert topic in admin.list_topics()
        admin.delete_topics([topic]).raise_errors()
        # Kafka's brokers learn of it behind the answer.
        wait_until(lambda: topic not in admin.list_topics())


def test_the_interpreter_exits_after_sending_what_was_left(
    bootstrap: str, new_topic: NewName
) -> None:
    topic = new_topic()
    script = f"""
        from millstream.clients import blocking
        producer = blocking.Producer(bootstrap_servers={bootstrap!r}, linger_ms=5000)
        producer.send({topic!r}, b"last words")
    """
    subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(script)],
        check=True,
        timeout=LONG_ENOUGH_S,
    )
    with blocking.RangeReader(bootstrap_servers=bootstrap) as reader:
        assert reader.offsets(topic, -1) == {0: 1}


_AFTER_MAIN = """
import threading
from millstream.clients import blocking
from millstream.net.client.tasks import ClientClosed

admin = blocking.Admin(bootstrap_servers="127.0.0.1:1")


def use_clients():
    threading.main_thread().join()  # by then the interpreter has closed all clients
    admin.close()  # once more, as at the end of a block
    for use in (lambda: repr(admin.list_topics()), blocking.Admin):
        try:
            use()
        except ClientClosed as error:
            print(str(error).partition(",")[0])


threading.Thread(target=use_clients).start()
"""


def test_a_thread_that_outlives_the_main_one_is_told_that_its_clients_are_closed() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", _AFTER_MAIN],
        capture_output=True,
        text=True,
        timeout=LONG_ENOUGH_S,
        check=True,
    )
    assert ended.stdout.splitlines() == ["the interpreter exits"] * 2
    assert not ended.stderr


def test_a_forked_child_is_told_to_make_its_own(bootstrap: str, new_topic: NewName) -> None:
    topic = new_topic()
    script = f"""
        import os, sys
        from millstream.clients import blocking
        producer = blocking.Producer(bootstrap_servers={bootstrap!r})
        producer.send({topic!r}, b"parent").result()
        if os.fork() == 0:
            try:
                producer.send({topic!r}, b"x")
            except blocking.ForkedClient as error:
                assert "make a new one" in str(error)
                own = blocking.Producer(bootstrap_servers={bootstrap!r})
                own.send({topic!r}, b"child").result()
                own.close()
                os._exit(7)
        _, status = os.wait()
        producer.close()
        sys.exit(os.waitstatus_to_exitcode(status))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], check=False, timeout=LONG_ENOUGH_S
    )
    assert done.returncode == 7


def test_many_clients_of_many_threads_share_one_loop_thread(
    bootstrap: str, new_topic: NewName
) -> None:
    topic = new_topic()
    with blocking.Admin(bootstrap_servers=bootstrap) as admin:
        admin.create_topics([NewTopic(topic, 4)]).raise_errors()
        failures: list[BaseException] = []

        def work(partition: int) -> None:
            try:
                with (
                    blocking.Producer(bootstrap_servers=bootstrap) as producer,
                    blocking.Consumer(
                        bootstrap_servers=bootstrap, auto_offset_reset="earliest"
                    ) as consumer,
                ):
                    consumer.assign([(topic, partition)])
                    sent = [b"%d" % number for number in range(50)]
                    for value in sent:
                        producer.send(topic, value, partition=partition)
                        assert topic in admin.list_topics()
                    producer.flush()
                    assert [next(consumer).value for _ in sent] == sent
            except BaseException as error:  # noqa: BLE001 - told by the main thread
                failures.append(error)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        loops = [t for t in threading.enumerate() if t.name == "millstream clients"]
        for thread in threads:
            thread.join()
    assert failures == []
    assert len(loops) == 1


def test_an_interrupted_wait_leaves_the_client_usable(bootstrap: str, new_topic: NewName) -> None:
    topic = new_topic()
    script = f"""
        import os, signal, sys, threading
        from millstream.clients import NewTopic, blocking
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
        with (
            blocking.Admin(bootstrap_servers={bootstrap!r}) as admin,
            blocking.Producer(bootstrap_servers={bootstrap!r}) as producer,
            blocking.Consumer(bootstrap_servers={bootstrap!r}, auto_offset_reset="earliest") as consumer,
        ):
            admin.create_topics([NewTopic({topic!r}, 1)]).raise_errors()
            consumer.assign([({topic!r}, 0)])
            for number in range(3):
                try:
                    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
                    consumer.poll(timeout_ms=60_000)
                except KeyboardInterrupt:
                    pass
                else:
                    sys.exit("the wait was not interrupted")
                producer.send({topic!r}, b"%d" % number).result()
                assert next(consumer).value == b"%d" % number
    """
    subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(script)],
        check=True,
        timeout=LONG_ENOUGH_S,
    )


def test_what_one_client_cannot_send_at_exit_does_not_hold_up_another(
    bootstrap: str, new_topic: NewName
) -> None:
    topic = new_topic()
    script = f"""
        from millstream.clients import blocking
        lost = blocking.Producer(bootstrap_servers={bootstrap!r}, max_request_size=5_000, linger_ms=9_000)
        kept = blocking.Producer(bootstrap_servers={bootstrap!r}, linger_ms=5_000)
        kept.send({topic!r}, b"kept")

        def fail():
            raise RuntimeError("cannot be closed")

        lost.close = fail
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        check=False,
        capture_output=True,
        timeout=LONG_ENOUGH_S,
    )
    assert b"cannot be closed" in done.stderr
    with blocking.RangeReader(bootstrap_servers=bootstrap) as reader:
        assert reader.offsets(topic, -1) == {0: 1}


def test_waiting_in_the_loop_thread_is_refused_instead_of_hanging(bootstrap: str) -> None:
    with (
        blocking.Admin(bootstrap_servers=bootstrap) as admin,
        pytest.raises(WrongEventLoop, match="use the asyncio client there"),
    ):
        shared().call(admin.list_topics)
