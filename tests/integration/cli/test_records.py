from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.cli.conftest import MILLSTREAM, Run
from tests.integration.clients.serdes.fake_schema_registry import FakeSchemaRegistry
from tests.patience import LONG_ENOUGH_S


@pytest.fixture
def registry() -> Iterator[FakeSchemaRegistry]:
    with FakeSchemaRegistry() as running:
        yield running


def test_lines_with_keys_headers_and_nulls_come_back_as_they_went(run: Run, topic: str) -> None:
    written = run("produce", topic, "-K", ":", "-H", "a=1", "-z", "lz4", "--null", "NULL",
                  "--property", "ignore.error=true", given="k1:one\nk2:NULL\nplain\n")  # fmt: skip
    assert (written.returncode, written.stdout) == (0, "")
    assert written.stderr.splitlines()[-1] == f"3 records written to {topic}"
    read = run("consume", topic, "-o", "beginning", "-e", "-Z", "-", "-f", "%p %o %k=%s %S [%h]\n")
    assert read.stdout == "0 0 k1=one 3 [a=1]\n0 1 k2=- -1 [a=1]\n0 2 -=plain 5 [a=1]\n"
    assert (read.returncode, read.stderr) == (0, "3 records read\n")


def test_keys_of_windows_are_written_and_shown(run: Run, topic: str) -> None:
    given = "[ann@10000/20000]:3\n"
    run("produce", topic, "-K", ":", "--key-format", "windowed:string", given=given)
    read = ("consume", topic, "-o", "beginning", "-e", "-q", "--key-format")
    assert run(*read, "windowed:string:10s", "-K", "=").stdout == "[ann@10000/20000]=3\n"
    row = json.loads(run(*read, "windowed:string", "-J").stdout)
    assert row["key"] == {"key": "ann", "start": 10_000, "end": None}
    wrong = run(*read, "windowed:strung")
    assert "'strung' is not one of string, bytes" in wrong.stderr
    assert wrong.returncode == 2


def test_what_is_counted_as_written_was_acknowledged(run: Run, topic: str) -> None:
    """A compacted topic refuses a record without a key, and the batch with it. The count names the first record that is missing."""
    run("topics", "create", topic, "--config", "cleanup.policy=compact")
    some = run("produce", topic, "-K", ":", given="a:1\nb:2\n")
    assert (some.returncode, some.stderr) == (0, f"2 records written to {topic}\n")
    lines = "c:3\nd:4\nplain\n"
    failed = run("produce", topic, "-K", ":", "--property", "ignore.error=true", given=lines)
    told, error = failed.stderr.splitlines()
    assert told == f"0 records written to {topic}, 3 not; the first of these is line 1"
    assert error.startswith(f"error: {topic}-0: ")
    assert failed.returncode == 1
    stopped = run("produce", topic, "-K", ":", given=lines)
    assert stopped.stderr.splitlines() == [
        f"2 records written to {topic}",
        "error: line 3: no key separator in 'plain'",
    ]


def test_an_offset_that_is_not_there_is_told(run: Run, topic: str) -> None:
    run("produce", topic, given="a\nb\n")
    read = run("consume", topic, "-o", "99", "-e")
    assert f"warning: {topic}-0 has no offset 99: it has 0 to 2" in read.stderr.splitlines()
    moved = run("groups", "reset-offsets", f"group-{topic}", "--topic", topic, "--to-offset", "99")
    warning = (
        f"warning: {topic}-0: offset 99 is behind the end of the partition; 2 is taken instead"
    )
    assert warning in moved.stderr.splitlines()


def test_what_an_aborted_transaction_had_is_not_counted(run: Run, topic: str) -> None:
    arguments = ("--transactional-id", topic, "--every", "2", "--value-format", "long")
    failed = run("produce", topic, *arguments, given="1\n2\n3\nfour\n")
    *_, told, error = failed.stderr.splitlines()
    assert told == f"2 records written to {topic}, 1 in a transaction that was not committed"
    assert error.startswith("error: line 4: 'four' is not a valid long")


def test_without_acknowledgements_records_are_sent_and_not_called_written(
    run: Run, topic: str
) -> None:
    sent = run("produce", topic, "--acks", "0", given="1\n2\n")
    assert sent.returncode == 0, sent.stderr
    assert sent.stderr.splitlines()[-1] == (
        f"2 records sent to {topic} (acks=0: no broker says whether it has them)"
    )


def test_kafkas_options_do_the_same(run: Run, topic: str, tmp_path: Path) -> None:
    """Files instead of standard input; every record waited for."""
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(f"{name}:1;{name}:2;".encode())
    written = run("produce", "--topic", topic, "--sync", "--compression-codec", "gzip",
                  "--request-required-acks", "all", "--max-block-ms", "9000", "--timeout", "0",
                  "--reader-property", "parse.key=true", "--reader-property", "key.separator=:",
                  "--producer-property", "client.id=test", "-D", ";", *map(str, sorted(tmp_path.iterdir())))  # fmt: skip
    assert written.returncode == 0, written.stderr
    read = run("consume", "--topic", topic, "--from-beginning", "--max-messages", "4",
               "--formatter-property", "print.key=true", "--formatter-property", "key.separator==",
               "--consumer-property", "client.id=test", "--isolation-level", "read_committed",
               "--key-deserializer", "org.apache.kafka.common.serialization.StringDeserializer")  # fmt: skip
    assert read.stdout == "a=1\na=2\nb=1\nb=2\n"


def test_starts_and_ends(run: Run, topic: str) -> None:
    now_ms = time.time_ns() // 1_000_000  # records of the past are soon deleted
    lines = "".join(f'{{"value": "{n}", "timestamp": {now_ms + n}}}\n' for n in range(10))
    assert run("produce", topic, "--input", "jsonl", given=lines).returncode == 0

    def values(*arguments: str) -> list[str]:
        done = run("consume", topic, "-q", *arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    assert values("-o", "7", "-e") == ["7", "8", "9"]
    assert values("-o", "-2", "-e") == ["8", "9"]
    assert values("--from-beginning", "--max-messages", "2") == ["0", "1"]
    assert values("-o", f"s@{now_ms + 3}", "-o", f"e@{now_ms + 6}") == ["3", "4", "5"]
    assert values("-o", "end", "-e") == []
    assert values("-o", "end", "--timeout-ms", "1") == []


def test_a_topic_is_copied_with_everything_through_a_pipe(run: Run, topic: str) -> None:
    """Bytes that are no UTF-8, nulls, headers and timestamps included."""
    now_ms = time.time_ns() // 1_000_000
    line = {"key": {"base64": "/wA="}, "value": None, "headers": [["h", "é"]], "timestamp": now_ms}
    run("produce", topic, "--input", "jsonl", given=json.dumps(line) + "\n")
    first = run("consume", topic, "--from-beginning", "-e", "--output", "jsonl").stdout
    run("produce", f"{topic}-copy", "--input", "jsonl", given=first)
    second = run("consume", f"{topic}-copy", "--from-beginning", "-e", "-J").stdout
    assert json.loads(second) == json.loads(first) | {"topic": f"{topic}-copy"}
    assert json.loads(first) == line | {"topic": topic, "partition": 0, "offset": 0}


def test_outputs_for_people_and_for_programs(run: Run, topic: str) -> None:
    run("produce", topic, "-k", "key", given='{"a":1}\n')
    arguments = ("consume", topic, "--from-beginning", "-e", "-q")
    (record,) = json.loads(run(*arguments, "--output", "json", "--value-format", "json").stdout)
    assert (record["key"], record["value"]) == ("key", {"a": 1})
    assert run(*arguments, "--output", "table").stdout.splitlines()[1].split()[-2:] == ["key", '{"a":1}']  # fmt: skip
    kafkas = run(*arguments, "--property", "print.key=true", "--property", "print.offset=true")
    assert kafkas.stdout == 'Offset:0\tkey\t{"a":1}\n'


def test_a_group_goes_on_where_it_stopped(run: Run, topic: str) -> None:
    run("produce", topic, given="1\n2\n3\n")
    group = f"group-{topic}"
    arguments = ("consume", topic, "-G", group, "--from-beginning", "-q")
    assert run(*arguments, "-c", "2").stdout == "1\n2\n"
    assert run(*arguments, "-e").stdout == "3\n"


def test_patterns_name_topics(run: Run, topic: str) -> None:
    for part in ("x", "y"):
        run("produce", f"{topic}-{part}", given=f"{part}\n")
    read = run("consume", f"^{topic}-.*", "-o", "beginning", "-e", "-q")
    assert sorted(read.stdout.split()) == ["x", "y"]


def test_transactions_are_committed_every_so_many_records(run: Run, topic: str) -> None:
    """A marker takes an offset behind each."""
    done = run("produce", topic, "--transactional-id", topic, "--every", "2", given="1\n2\n3\n")
    assert done.returncode == 0, done.stderr
    read = run("consume", topic, "--from-beginning", "-e", "--isolation-level", "read_committed",
               "-f", "%o=%s ")  # fmt: skip
    assert read.stdout == "0=1 1=2 3=3 "


def test_a_transaction_with_a_bad_line_is_aborted(run: Run, topic: str) -> None:
    done = run("produce", topic, "--transactional-id", topic, "--value-format", "long", given="1\nx\n")  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("error: line 2: 'x' is not a valid long")
    read = run("consume", topic, "--from-beginning", "-e", "--isolation-level", "read_committed")
    assert (read.stdout, read.stderr) == ("", "0 records read\n")


def test_formats_with_a_schema_registry(
    run: Run, topic: str, registry: FakeSchemaRegistry, tmp_path: Path
) -> None:
    schema = tmp_path / "delay.avsc"
    schema.write_text('{"type":"record","name":"D","fields":[{"name":"minutes","type":"int"}]}')
    written = run("produce", topic, "--value-format", "avro", "--value-schema", f"@{schema}",
                  "--schema-registry", registry.url, given='{"minutes":7}\n')  # fmt: skip
    assert written.returncode == 0, written.stderr
    assert list(registry.contents.subjects) == [f"{topic}-value"]
    read = run("consume", topic, "--from-beginning", "-e", "-q", "--value-format", "avro",
               "--schema-registry", registry.url)  # fmt: skip
    assert read.stdout == '{"minutes":7}\n'


def test_what_cannot_be_read_ends_it_with_the_place_or_is_passed_over(run: Run, topic: str) -> None:
    run("produce", topic, given="1\n12345678\n")
    arguments = ("consume", topic, "--from-beginning", "-e", "--value-format", "long")
    failed = run(*arguments)
    assert failed.returncode == 1
    assert failed.stderr.startswith(f"error: {topic}-0 offset 0: the long serde cannot read these 1 bytes")  # fmt: skip
    assert len(failed.stderr.splitlines()) == 1
    passed = run(*arguments, "--skip-message-on-error")
    assert passed.stdout == f"{int.from_bytes(b'12345678')}\n"
    assert passed.stderr == "1 record read, 1 skipped\n"


@pytest.mark.parametrize(("asking", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interruption_ends_a_consumer_cleanly_and_commits_what_was_printed(
    run: Run, topic: str, environment: dict[str, str], asking: signal.Signals, code: int
) -> None:
    run("produce", topic, given="1\n2\n")
    group = f"group-{topic}"
    arguments = ["consume", topic, "-G", group, "--from-beginning"]
    with subprocess.Popen(
        [*MILLSTREAM, *arguments], env=environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as consumer:  # fmt: skip
        assert consumer.stdout is not None
        assert [consumer.stdout.readline() for _ in range(2)] == ["1\n", "2\n"]
        consumer.send_signal(asking)
        out, told = consumer.communicate(timeout=LONG_ENOUGH_S)
    assert (consumer.returncode, out, told) == (code, "", "2 records read\n")
    described = run("groups", "describe", group, "--output", "jsonl")
    assert json.loads(described.stdout)["lag"] == 0


def test_an_interrupted_producer_delivers_what_it_read(
    run: Run, topic: str, environment: dict[str, str]
) -> None:
    run("topics", "create", topic)
    with subprocess.Popen(
        [*MILLSTREAM, "consume", topic, "-o", "beginning", "-c", "1", "-q"],
        env=environment, text=True, stdout=subprocess.PIPE,
    ) as consumer, subprocess.Popen(
        [*MILLSTREAM, "produce", topic, "-X", "linger.ms=0"], env=environment, text=True,
        stdin=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as producer:  # fmt: skip
        assert producer.stdin is not None
        producer.stdin.write("only\n")
        producer.stdin.flush()
        assert consumer.communicate(timeout=LONG_ENOUGH_S)[0] == "only\n"
        producer.send_signal(signal.SIGINT)
        producer.wait(LONG_ENOUGH_S)
        assert producer.stderr is not None
        told = f"1 record written to {topic}; line 1 was the last one sent\n"
        assert producer.stderr.read() == told
    assert producer.returncode == 130


def test_a_reader_that_goes_away_is_no_failure(
    run: Run, topic: str, environment: dict[str, str]
) -> None:
    run("produce", topic, given="line\n" * 50_000)
    with subprocess.Popen(
        [*MILLSTREAM, "consume", topic, "-o", "beginning", "-e"], env=environment,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as consumer:  # fmt: skip
        assert consumer.stdout is not None
        assert consumer.stdout.readline() == b"line\n"
        consumer.stdout.close()
        assert consumer.stderr is not None
        told = consumer.stderr.read()
        assert consumer.wait(LONG_ENOUGH_S) == 0
    assert told == b""


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("consume", "no-such-topic", "-e"), 3, "error: no-such-topic: The server does not host"),
        (("consume", "a", "-e", "-b", "127.0.0.1:1", "-X", "default.api.timeout.ms=300"), 5, "error: no broker could be reached: cannot connect to 127.0.0.1:1: refused"),
        (("consume", "a", "-X", "fetch.min.byte=1", "-G", "g"), 2, "error: ConsumerConfig has no setting fetch.min.byte; did you mean fetch_min_bytes?"),
        (("produce", "a", "-X", "acks=7"), 2, 'error: acks must be "all", 1 or 0'),
        (("produce", "a", "--max-block-ms", "soon"), 2, "error: max_block_ms must be an integer"),
        (("groups", "describe", "no-such-group"), 3, "error: no-such-group: "),
    ],
)  # fmt: skip
def test_failures_are_one_line_and_a_code(run: Run, arguments: tuple[str, ...], code: int, told: str) -> None:  # fmt: skip
    done = run(*arguments)
    assert done.returncode == code, done.stderr
    (line,) = done.stderr.splitlines()
    assert line.startswith(told), line


def test_a_clients_properties_may_come_from_a_file(
    run: Run, topic: str, bootstrap: str, tmp_path: Path
) -> None:
    file = tmp_path / "client.properties"
    file.write_text(f"bootstrap.servers={bootstrap}\nlinger.ms=0\nfetch.max.wait.ms=100\n")
    assert os.environ.get("MILLSTREAM_BOOTSTRAP_SERVERS") is None
    assert run("produce", topic, "-F", str(file), given="x\n").returncode == 0
    assert run("consume", topic, "-F", str(file), "-o", "beginning", "-e", "-q").stdout == "x\n"


def test_bytes_that_are_no_text_are_keys_and_headers_as_any(run: Run, topic: str) -> None:
    """The shell gives bytes that are no UTF-8 as lone surrogates."""
    assert run("produce", topic, "-k", "k\udcff", "-H", "h=\udcfe", given="x\n").returncode == 0
    read = json.loads(run("consume", topic, "--from-beginning", "-e", "-J").stdout)
    assert (read["key"], read["headers"]) == ({"base64": "a/8="}, [["h", {"base64": "/g=="}]])


def test_settings_of_the_consumer_need_no_group(run: Run, topic: str, tmp_path: Path) -> None:
    """auto.offset.reset is the consumer's; the client that asks for the topic's partitions has no such setting."""
    run("produce", topic, given="one\n")
    read = run("consume", topic, "-X", "auto.offset.reset=earliest", "-e")
    assert (read.returncode, read.stdout, read.stderr) == (0, "one\n", "1 record read\n")
    file = tmp_path / "consumer.properties"
    file.write_text("auto.offset.reset=earliest\nno.such.setting=1\n")
    read = run("consume", topic, "-F", str(file), "-e")
    assert (read.returncode, read.stdout) == (0, "one\n")
    assert read.stderr.splitlines() == [
        f"warning: {file}: no client has a setting named no.such.setting",
        "1 record read",
    ]


def test_a_partition_that_a_topic_does_not_have_is_named(run: Run, topic: str) -> None:
    run("produce", topic, given="one\n")
    read = run("consume", topic, "-p", "7")
    assert read.returncode == 2
    assert f"{topic}: there is no partition 7" in read.stderr
