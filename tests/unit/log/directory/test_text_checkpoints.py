from __future__ import annotations

import pytest

from millstream.log.directory.text_checkpoints import (
    DamagedFile,
    MetaProperties,
    decode_clean_shutdown,
    decode_epochs,
    decode_meta_properties,
    decode_offsets,
    decode_partition_metadata,
    encode_clean_shutdown,
    encode_epochs,
    encode_meta_properties,
    encode_offsets,
    encode_partition_metadata,
)
from millstream.model import TopicPartition, uuid_from_text

UUID = uuid_from_text("J3wITouUt2jiFn3M6gsoYA")


def test_offset_checkpoints_are_kafkas_text():
    offsets = {TopicPartition("a.b-c", 3): 17, TopicPartition("t", 0): 0}
    assert encode_offsets(offsets) == b"0\n2\na.b-c 3 17\nt 0 0\n"
    assert decode_offsets("f", b"0\n2\na.b-c 3 17\nt 0 0\n") == offsets


def test_an_empty_checkpoint_file_has_no_entries_as_kafka_creates_it():
    assert decode_offsets("f", b"") == {}
    assert encode_offsets({}) == b"0\n0\n"


@pytest.mark.parametrize(
    "data",
    [b"1\n0\n", b"0\n", b"0\n2\nt 0 1\n", b"0\n1\nt 0\n", b"0\n1\nt 0 x\n", b"0\nx\n", b"\xff\xfe"],
)
def test_a_damaged_checkpoint_is_never_taken_for_an_empty_one(data):
    with pytest.raises(DamagedFile, match="the-path is damaged"):
        decode_offsets("the-path", data)


def test_leader_epoch_checkpoints_are_kafkas_text():
    assert encode_epochs([(0, 0)]) == b"0\n1\n0 0\n"
    assert decode_epochs("f", b"0\n2\n0 0\n3 41\n") == [(0, 0), (3, 41)]


def test_partition_metadata_has_43_bytes_and_no_newline_at_the_end():
    data = encode_partition_metadata(UUID)
    assert data == b"version: 0\ntopic_id: J3wITouUt2jiFn3M6gsoYA"
    assert len(data) == 43
    assert decode_partition_metadata("f", data) == UUID
    with pytest.raises(DamagedFile):
        decode_partition_metadata("f", b"version: 0\ntopic_id: J3w")


def test_meta_properties_are_read_in_any_order_with_comments():
    text = b"#\n#Sat Nov 21 14:22:26 UTC 2026\nnode.id=1\ndirectory.id=J3wITouUt2jiFn3M6gsoYA\nversion=1\ncluster.id=c\n"
    assert decode_meta_properties("f", text) == MetaProperties("c", 1, UUID)
    assert decode_meta_properties(
        "f", encode_meta_properties(MetaProperties("c", 1, UUID))
    ) == MetaProperties("c", 1, UUID)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"", "version is missing"),
        (b"version=0\nbroker.id=1\ncluster.id=c\n", "version is '0', only 1 is known"),
        (
            b"version=1\nnode.id=1\ncluster.id=c\xff\ndirectory.id=J3wITouUt2jiFn3M6gsoYA\n",
            "which is no text",
        ),
        (b"version=1\ncluster.id=c\n", "node.id is missing"),
        (
            b"version=0\nnode.id=1\ncluster.id=c\ndirectory.id=J3wITouUt2jiFn3M6gsoYA\n",
            "version is '0', only 1 is known",
        ),
        (
            b"version=1\nnode.id=x\ncluster.id=c\ndirectory.id=J3wITouUt2jiFn3M6gsoYA\n",
            "node.id is 'x', which is no number",
        ),
        (
            b"version=1\nnode.id=-1\ncluster.id=c\ndirectory.id=J3wITouUt2jiFn3M6gsoYA\n",
            "node.id is '-1', which is no number",
        ),
        (
            b"version=1\nnode.id=1\ncluster.id=\ndirectory.id=J3wITouUt2jiFn3M6gsoYA\n",
            "cluster.id is missing",
        ),
        (
            b"version=1\nnode.id=1\ncluster.id=c\ndirectory.id=J3w\n",
            "directory.id: not a Kafka uuid",
        ),
    ],
)
def test_damaged_meta_properties_say_what_is_wrong(text, reason):
    with pytest.raises(DamagedFile, match=reason):
        decode_meta_properties("f", text)


def test_meta_properties_that_are_cut_off_are_never_those_of_another_cluster_or_node():
    """Kafka writes the cluster id last: half of it would be the id of another cluster."""
    text = b"#\n#Sat Nov 21 14:22:26 UTC 2026\nnode.id=12\ndirectory.id=J3wITouUt2jiFn3M6gsoYA\nversion=1\ncluster.id=my-cluster\n"
    for size in range(len(text)):
        with pytest.raises(DamagedFile, match="is damaged"):
            decode_meta_properties("f", text[:size])


def test_the_clean_shutdown_file_is_one_line_of_json():
    assert encode_clean_shutdown(14) == b'{"version":0,"brokerEpoch":14}'
    assert decode_clean_shutdown(b'{"version":0,"brokerEpoch":14}') == 14
    assert decode_clean_shutdown(b"") == -1
