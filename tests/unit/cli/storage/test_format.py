"""What `millstream storage format` does beside what is recorded of Kafka's tool."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from millstream.broker.storage.bootstrap_checkpoint import BOOTSTRAP_SNAPSHOT, read_bootstrap
from millstream.cli.storage.command import storage
from millstream.protocol.generated.metadata_records import UserScramCredentialRecord
from millstream.raft.snapshot import decode_snapshot
from millstream.raft.voter_set import VoterSet
from millstream.runtime.system import SystemFileSystem
from millstream.security.scram import ScramMechanism, salted_password, scram_keys

CLUSTER = "AAAAAAAAAAAAAAAAAAAAAw"
SETTINGS = """process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=localhost:9093
listeners=PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093
controller.listener.names=CONTROLLER
"""


def formatted(directory: Path, *options: str, more: str = "", **environment: str) -> Result:
    settings = directory / "node.properties"
    settings.write_text(f"{SETTINGS}log.dirs={directory / 'a'}\n{more}")
    arguments = ["format", "-t", CLUSTER, "-c", str(settings), *options]
    return CliRunner().invoke(storage, arguments, env=environment)


def voters_of(directory: Path) -> VoterSet:
    path = directory / "a" / "__cluster_metadata-0" / BOOTSTRAP_SNAPSHOT.file_name
    voters = decode_snapshot(BOOTSTRAP_SNAPSHOT, path.read_bytes()).voters
    assert voters is not None
    return voters


def test_a_password_is_salted_at_random_and_never_printed_or_stored(tmp_path: Path) -> None:
    result = formatted(
        tmp_path, "-s", "-S", "SCRAM-SHA-256=[name=alice,password=secret]", "-S", "SCRAM-SHA-256=[name=bob,password=secret]",
    )  # fmt: skip
    assert result.exit_code == 0
    records = read_bootstrap(SystemFileSystem(), str(tmp_path / "a")) or ()
    alice, bob = (each for each in records if isinstance(each, UserScramCredentialRecord))
    salted = salted_password(ScramMechanism.SCRAM_SHA_256, b"secret", bytes(alice.salt), 4096)
    assert alice.stored_key == scram_keys(ScramMechanism.SCRAM_SHA_256, salted).stored_key
    assert alice.salt != bob.salt
    assert "UserScramCredentialRecord(name='alice', mechanism=1, iterations=4096)" in result.stdout
    stored = (tmp_path / "a" / "bootstrap.checkpoint").read_bytes()
    assert b"secret" not in stored + result.output.encode()


def test_what_verifies_a_password_is_what_java_makes_of_it(tmp_path: Path) -> None:
    """A salted password that is given is not salted again."""
    salted = hashlib.pbkdf2_hmac("sha256", b"secret", b"salt", 4096)
    text = (
        f"SCRAM-SHA-256=[name=a,salt=c2FsdA==,saltedpassword={base64.b64encode(salted).decode()}]"
    )
    assert formatted(tmp_path, "-s", "-S", text).exit_code == 0
    (given,) = (read_bootstrap(SystemFileSystem(), str(tmp_path / "a")) or ())[6:]
    assert given.stored_key == scram_keys(ScramMechanism.SCRAM_SHA_256, salted).stored_key


def test_the_metadata_of_a_former_cluster_do_not_become_those_of_a_new_one(tmp_path: Path) -> None:
    log = tmp_path / "a" / "__cluster_metadata-0" / "00000000000000000000.log"
    log.parent.mkdir(parents=True)
    log.write_bytes(b"precious")
    result = formatted(tmp_path, "--standalone")
    assert result.exit_code == 1
    assert result.stderr == (
        f"error: {log.parent} has the metadata of a cluster ({log.name}), and {tmp_path / 'a'} no meta.properties: "
        "restore that file, or remove what the directory holds\n"
    )
    assert log.read_bytes() == b"precious"
    assert not (tmp_path / "a" / "meta.properties").exists()


def test_a_format_that_was_cut_off_before_its_end_is_done_anew(tmp_path: Path) -> None:
    """The voters of the first one are forgotten with it."""
    assert formatted(tmp_path, "--standalone").exit_code == 0
    (tmp_path / "a" / "meta.properties").unlink()
    assert formatted(tmp_path, "--no-initial-controllers").exit_code == 0
    assert {path.name for path in (tmp_path / "a").rglob("*") if path.is_file()} == {
        "bootstrap.checkpoint",
        "meta.properties",
    }


def test_a_refusal_leaves_the_other_directories_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "meta.properties").write_text(
        f"version=1\ncluster.id=other\nnode.id=1\ndirectory.id={CLUSTER}\n"
    )
    more = f"log.dirs={tmp_path / 'a'},{tmp_path / 'b'}\n"
    result = formatted(tmp_path, "-s", "-g", more=more)
    assert result.exit_code == 1
    assert f"{tmp_path / 'b'} belongs to cluster other, not to {CLUSTER}" in result.stderr
    assert not (tmp_path / "a").exists()


def test_a_directory_that_cannot_be_read_keeps_no_other_from_being_formatted(
    tmp_path: Path,
) -> None:
    (tmp_path / "b").write_text("a file")
    more = f"log.dirs={tmp_path / 'a'},{tmp_path / 'b'}\n"
    result = formatted(tmp_path, "-s", more=more)
    assert result.exit_code == 0
    assert result.stdout.startswith(
        f"I/O error trying to read log directory {tmp_path / 'b'} (Not a directory). Ignoring...\n"
    )
    assert (tmp_path / "a" / "meta.properties").exists()


def test_variables_of_the_environment_count_as_for_a_server(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    assert formatted(tmp_path, "-s", KAFKA_LOG_DIRS=str(elsewhere)).exit_code == 0
    assert (elsewhere / "meta.properties").exists()
    assert not (tmp_path / "a").exists()


def test_a_cluster_that_only_kafka_can_run_is_formatted_with_a_warning(tmp_path: Path) -> None:
    result = formatted(
        tmp_path, "-s", "-r", "4.4-IV0", more="unstable.feature.versions.enable=true\n"
    )
    assert result.exit_code == 0
    assert result.stderr == (
        "warning: Kafka can run this cluster, and this version of Millstream cannot: it works at metadata.version=7 to 30, not at 31\n"
    )
    assert formatted(tmp_path, "-s", "-g").stderr == ""


@pytest.mark.parametrize("host", ["::1", "0:0:0:0:0:0:0:1"])
def test_an_ipv6_address_is_written_as_java_writes_it(tmp_path: Path, host: str) -> None:
    voter = f"1@[{host}]:9093:JEXY6aqzQY-32P5TStzaFg"
    assert formatted(tmp_path, "-I", voter).exit_code == 0
    (found,) = voters_of(tmp_path)
    assert found.endpoints[0].host == "0:0:0:0:0:0:0:1"


@pytest.mark.parametrize(
    ("voters", "sentence"),
    [
        ("1@h:9093:JEXY6aqzQY-32P5TStzaFg,1@h:9093:JEXY6aqzQY-32P5TStzaFg", "node 1 is named twice"),
        ("1@h:65536:JEXY6aqzQY-32P5TStzaFg", "the port of '1@h:65536:JEXY6aqzQY-32P5TStzaFg' must be a number from 0 to 65535"),
        ("2147483648@h:1:JEXY6aqzQY-32P5TStzaFg", "the id of '2147483648@h:1:JEXY6aqzQY-32P5TStzaFg' must be a number from 0 to 2147483647"),
        ("1_0@h:1:JEXY6aqzQY-32P5TStzaFg", "the id of"),
        ("h:1:JEXY6aqzQY-32P5TStzaFg", "is no controller: write ID@HOST:PORT:DIRECTORY"),
        ("1@h:1:JEXY6aqzQY", "not a Kafka uuid"),
        ("", "names no controller"),
    ],
)  # fmt: skip
def test_a_bad_controller_is_told_in_one_sentence(
    tmp_path: Path, voters: str, sentence: str
) -> None:
    result = formatted(tmp_path, "--initial-controllers", voters)
    assert result.exit_code == 1
    assert result.stderr.startswith("error: --initial-controllers")
    assert sentence in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("cluster_id", ["", "a b", "a\nnode.id=2", "é", "a=b"])
def test_a_cluster_id_is_one_word(tmp_path: Path, cluster_id: str) -> None:
    result = formatted(tmp_path, "-s", "-t", cluster_id)
    assert result.exit_code == 1
    assert "is no cluster id: make one with `millstream storage random-uuid`" in result.stderr


def test_settings_that_are_no_text_are_refused(tmp_path: Path) -> None:
    settings = tmp_path / "node.properties"
    settings.write_bytes(b"log.dirs=\xff\n")
    result = CliRunner().invoke(storage, ["info", "-c", str(settings)])
    assert result.exit_code == 2
    assert result.stderr.startswith(f"error: {settings} is not text in UTF-8")


def test_ids_are_new_each_time_and_no_options() -> None:
    ids = {CliRunner().invoke(storage, ["random-uuid"]).stdout.strip() for _ in range(200)}
    assert len(ids) == 200
    assert {len(each) for each in ids} == {22}
    assert not any(each.startswith("-") for each in ids)
