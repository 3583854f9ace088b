"""`make bench`, or `python -m benchmarks NAME...`: runs the benchmarks one after another, each in a fresh process.

Every benchmark measures us and a peer in the same run, A B A B, and prints ratios: absolute figures depend on the machine.
The peers are Python packages of requirements/dev.txt, and of requirements/peers.txt in an environment of their own. With
MILLSTREAM_KAFKA_CLASSPATH naming Kafka's jars the benchmarks of broker and clients start an Apache Kafka beside us, that of
applications runs Kafka Streams.
"""

from __future__ import annotations

import subprocess
import sys
import time

BENCHMARKS = {
    "codec": "messages to bytes and back, against kio and kafka-python",
    "records": "record batches to Arrow and back, compiled and interpreted",
    "log": "append to and read from a partition log",
    "start": "time, processor time and memory until a node is ready",
    "broker": "raw produce and fetch frames, against Apache Kafka when one is given",
    "scale": "many partitions, connections and group members, against Apache Kafka when one is given",
    "cluster": "several nodes: start, rest, changes, deaths, many partitions, against Apache Kafka when one is given",
    "tls": "produce over TLS, against Apache Kafka when one is given",
    "throttled_client": "a client beside one that is held back by its quota, against Apache Kafka when one is given",
    "end_to_end": "latency of librdkafka at 1,000 messages a second, against Apache Kafka when one is given",
    "clients": "produce and consume, against confluent-kafka, aiokafka and kafka-python",
    "client_latency": "time to an acknowledgement, and from producer to consumer, against the other clients",
    "client_footprint": "import time, memory per partition, processor time of an idle consumer, against the other clients",
    "jobs": "the jobs of docs/guide/cli.md on three secured nodes, each command a process",
    "copying": "a topic copied to another one by the command line, against kcat",
    "streams": "the streams kernel alone, beside the operators of quixstreams and faust",
    "restore": "stores restored from their changelogs",
    "store_memory": "memory of stores on disk, with default and with small options of RocksDB",
    "windows_of_many_keys": "windows of keys that hardly repeat, as an application",
    "applications": "applications on one stream thread, on two and on two processes",
    "applications_beside_java": "applications on one stream thread, beside Kafka Streams in Java when its jars are given",
    "pipeline": "topic to topic on Apache Spark",
    "dataframes": "topics as DataFrames on Apache Spark, beside its own connector",
    "pipeline_latency": "one record through a topology on Apache Spark, and micro-batches of many tasks",
}


def main(names: list[str]) -> int:
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        print(
            f"no benchmark named {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}",
            file=sys.stderr,
        )
        return 2
    failed = []
    for name in names or BENCHMARKS:
        print(f"\n=== {name}: {BENCHMARKS[name]}", flush=True)
        start = time.monotonic()
        done = subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], check=False)
        print(f"--- {name}: {time.monotonic() - start:.0f} s", flush=True)
        if done.returncode != 0:
            failed.append(name)
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
