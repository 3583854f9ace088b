# `make help` lists the targets. Each does its own set-up; a second run starts at once.
PYTHON_BIN := .venv/bin/python
# Three on the two processors of CI: one of them mostly waits, for Spark or for a broker.
PYTEST_FLAGS ?= -n 3 --dist worksteal

.PHONY: help demo test check bench codegen docs file-map oracle oracle-broker oracle-compaction oracle-clients oracle-cluster oracle-dataframes oracle-rights oracle-streams oracle-spark oracle-applications oracle-alignment oracle-connector compat-kafka-python compat-logins attacks cluster cluster-kills faults fuzz sim soak lock sdist wheel wheels sbom wheel-check audit setup-demo setup-dev check-types check-style clean speed-turns

help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):.*  ## /\1|/p' $(MAKEFILE_LIST) | awk -F'|' '{printf "  %-20s %s\n", $$1, $$2}'

setup-demo:
	@scripts/setup demo

setup-dev:
	@scripts/setup dev

demo: setup-demo  ## flights through a topology on Apache Spark over our own broker, verified
	@.venv/bin/millstream demo flights

test: setup-dev  ## every test but those of `make cluster`, `cluster-kills` and `wheel-check`
	@$(PYTHON_BIN) -m pytest $(PYTEST_FLAGS)

check: setup-dev  ## format, lint, types, layers, generated code
	@$(MAKE) --no-print-directory --jobs 2 --output-sync=target check-types check-style

check-types:
	@.venv/bin/mypy

check-style:
	@.venv/bin/ruff format --check .
	@.venv/bin/ruff check .
	@.venv/bin/basedpyright
	@.venv/bin/lint-imports
	@$(PYTHON_BIN) -m codegen --check

bench: setup-dev  ## speed, as ratios to peers in the same run
	@scripts/setup-peers || echo "going on without the peers of streams"
	@$(PYTHON_BIN) -m benchmarks

speed-turns: setup-dev  ## is this checkout slower than a base commit: both in turns, 15 minutes; `make speed-turns BASE=HEAD~3 ONLY=broker,count ROUNDS=6 MINUTES=30`, NEW=commit
	@$(PYTHON_BIN) -m benchmarks.turns --base '$(BASE)' --new '$(NEW)' --only '$(ONLY)' $(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(MINUTES),--minutes $(MINUTES))

codegen: setup-dev  ## rewrite the generated modules from their tables
	@$(PYTHON_BIN) -m codegen

docs: setup-dev  ## rewrite the generated pages of docs/
	@$(PYTHON_BIN) -m codegen.docs

oracle: setup-dev  ## tests that need Kafka's own tools (MILLSTREAM_KAFKA_CLASSPATH)
	@$(PYTHON_BIN) -m pytest -m oracle

oracle-broker: setup-dev  ## the same sessions against Apache Kafka and against us; `make oracle-broker CASES='groups/*'`
	@$(PYTHON_BIN) tests/oracle/run_broker.py --kafka $(if $(CASES),'$(CASES)')

oracle-compaction: setup-dev  ## random histories of compacted topics against Apache Kafka and against us; `make oracle-compaction SEED=7 COUNT=100`
	@$(PYTHON_BIN) -m tests.oracle.compaction $(if $(SEED),--seed $(SEED)) $(if $(COUNT),--count $(COUNT))

oracle-clients: setup-dev  ## the tests of the clients against Apache Kafka with one node and with three; `make oracle-clients FLAGS="-k groups"`
	@$(PYTHON_BIN) -m tests.oracle.clients.run $(FLAGS)

oracle-cluster: setup-dev  ## clusters of Apache Kafka's nodes and ours (MILLSTREAM_KAFKA_CLASSPATH); `make oracle-cluster FLAGS="-k transactions"`
	@$(PYTHON_BIN) -m tests.oracle.cluster.run $(FLAGS)

oracle-rights: setup-dev  ## applications with the least rights of docs/guide/rights.md against Apache Kafka (MILLSTREAM_KAFKA_CLASSPATH)
	@MILLSTREAM_RIGHTS_ON_KAFKA=1 $(PYTHON_BIN) -m pytest -n 0 tests/integration/rights

oracle-dataframes: setup-dev  ## the tests of sources and sinks on Spark against Apache Kafka; `make oracle-dataframes FLAGS="-k exactly_once"`
	@$(PYTHON_BIN) -m tests.oracle.dataframes $(FLAGS)

oracle-streams: setup-dev  ## random topologies and inputs against Kafka Streams (MILLSTREAM_STREAMS_ORACLE); `make oracle-streams SEED=7 COUNT=20000`
	@$(PYTHON_BIN) tests/oracle/run_random.py $(if $(SEED),--seed $(SEED)) --count $(or $(COUNT),2000)

oracle-spark: setup-dev  ## the recorded cases of Kafka Streams as live applications on Spark; `make oracle-spark SEED=7 COUNT=100`, FLAGS='--kafka --from 100' over Apache Kafka, the next portion
	@$(PYTHON_BIN) tests/oracle/live_cases/run.py $(if $(SEED),--seed $(SEED)) $(if $(COUNT),--count $(COUNT)) $(FLAGS)

oracle-applications: setup-dev  ## the same cases as instances of KafkaStreams that come and go; `make oracle-applications SEED=7 COUNT=100`, FLAGS=--kafka over Apache Kafka
	@$(PYTHON_BIN) tests/oracle/live_cases/run.py --threads $(if $(SEED),--seed $(SEED)) $(if $(COUNT),--count $(COUNT)) $(FLAGS)

oracle-alignment: setup-dev  ## random topologies with repartitions, over a backlog and live, against a judge without a broker; `make oracle-alignment SEED=7 COUNT=100`, FLAGS=--spark, FLAGS=--kills, FLAGS=--processes, or FLAGS="--orders 16000"
	@$(PYTHON_BIN) tests/oracle/alignment/run.py $(if $(SEED),--seed $(SEED)) $(if $(COUNT),--count $(COUNT)) $(FLAGS)

oracle-connector: setup-dev  ## the same jobs through our format and through Spark's own Kafka connector (MILLSTREAM_SPARK_KAFKA_JARS)
	@$(PYTHON_BIN) -m pytest tests/compat/spark

compat-kafka-python: setup-dev  ## kafka-python's own integration tests against our broker; WRITE=1 writes the page; FLAGS=--three: one of three nodes
	@$(PYTHON_BIN) tests/compat/kafka_python_suite/run.py $(if $(WRITE),--write) $(FLAGS)

compat-logins: setup-dev  ## clients of other people log in at our broker, and at Apache Kafka (MILLSTREAM_KAFKA_CLASSPATH); needs Go, Node.js and their registries
	@scripts/setup-logins
	@$(PYTHON_BIN) -m pytest -n 0 tests/compat/logins

faults: setup-dev  ## clients behind a proxy that injects seeded faults; `make faults SEEDS=0-99`, or one seed to repeat it
	@MILLSTREAM_FAULT_SEEDS=$(or $(SEEDS),0-19) MILLSTREAM_CANCEL_STRIDE=1 $(PYTHON_BIN) -m pytest tests/integration/clients/faults tests/integration/clients/test_cancellation*.py

attacks: setup-dev  ## floods of connections and hostile clients beside a well-behaved one, whose speed is compared too: for a quiet machine, half an hour
	@$(PYTHON_BIN) -m tests.floods.run
	@MILLSTREAM_ATTACKS_SPEED=1 $(PYTHON_BIN) -m pytest tests/integration/attacks

fuzz: setup-dev  ## broken requests at the dispatcher, without and with access rules, broken logins, broken TLS; `make fuzz COUNT=1000000 SEED=7`
	@$(PYTHON_BIN) -m tests.fuzz.run --count $(or $(COUNT),100000) --seed $(or $(SEED),0)
	@$(PYTHON_BIN) -m tests.fuzz.run --count $(or $(COUNT),100000) --seed $(or $(SEED),0) --authorizer
	@$(PYTHON_BIN) -m tests.fuzz.logins --count $(or $(COUNT),100000) --seed $(or $(SEED),0)
	@$(PYTHON_BIN) -m tests.fuzz.tls --count $(or $(COUNT),100000) --seed $(or $(SEED),0)

soak: setup-dev  ## what goes wrong only now and then; `make soak SECONDS=300 ROUNDS=100 KILLS=500`; NODES=3, KAFKA=1, SECURE=1: pipelines and applications that are killed, on three nodes of ours, on Apache Kafka, on a node with logins and access rules
	@MILLSTREAM_SOAK_SECONDS=$(or $(SECONDS),300) MILLSTREAM_SOAK_ROUNDS=$(or $(ROUNDS),100) MILLSTREAM_SOAK_KILLS=$(or $(KILLS),500) MILLSTREAM_SOAK_KAFKA=$(KAFKA) MILLSTREAM_SOAK_NODES=$(NODES) MILLSTREAM_SOAK_SECURE=$(SECURE) $(PYTHON_BIN) -m pytest -m soak $(if $(KAFKA)$(NODES),tests/soak/test_kill_matrix.py tests/soak/test_sink_kill_matrix.py tests/soak/test_application_kill_matrix.py,$(if $(SECURE),tests/soak/test_kill_matrix.py tests/soak/test_backlog_kill_matrix.py tests/soak/test_application_kill_matrix.py,tests/soak))

cluster: setup-dev  ## pipelines on clusters of Spark with several executors, which come and go: ten minutes
	@$(PYTHON_BIN) -m pytest -m cluster $(PYTEST_FLAGS) tests/integration/spark

cluster-kills: setup-dev  ## controllers and brokers of three nodes that are killed, stopped, paused and cut off under load; `make cluster-kills KILLS=10 RECORDS=20000 SECONDS=600 MOVE_MB=2000`
	@MILLSTREAM_SOAK_CLUSTER_KILLS=$(or $(KILLS),10) MILLSTREAM_SOAK_CLUSTER_FLAPPING_S=60 MILLSTREAM_SOAK_CLUSTER_RECORDS=$(or $(RECORDS),20000) MILLSTREAM_SOAK_CLUSTER_SECONDS=$(or $(SECONDS),60) MILLSTREAM_SOAK_CLUSTER_MOVE_MB=$(or $(MOVE_MB),200) MILLSTREAM_SOAK_SLOWNESS=1 $(PYTHON_BIN) -m pytest -s -m nodes tests/soak/cluster tests/soak/replication tests/integration/cluster tests/integration/replication tests/integration/cli/test_cluster.py tests/integration/docs/test_cluster_guide.py

sim: setup-dev  ## seeded simulations of the pure cores: `make sim SEEDS=0-999`, or one seed to repeat it
	@MILLSTREAM_PURE=1 MILLSTREAM_SIM_SEEDS=$(or $(SEEDS),0-199) $(PYTHON_BIN) -m pytest -n 2 --timeout 1800 tests/sim

file-map: setup-dev  ## every module with what it owns: out/file-map.md
	@$(PYTHON_BIN) -m codegen.file_map

audit: setup-dev  ## known vulnerabilities of all that is pinned, by pip-audit: needs the network
	@scripts/audit

lock: setup-dev  ## pin what requirements/*.in want; `make lock LOCK_FLAGS=--upgrade` for the newest of all
	@scripts/lock $(LOCK_FLAGS)

wheel: setup-dev  ## a wheel with compiled parts, for this Python: dist/millstream-*.whl
	@scripts/wheel dist

sdist: setup-dev  ## the sources, packed: dist/millstream-*.tar.gz
	@scripts/sdist dist

wheels: setup-dev  ## wheels of all Pythons and processors of this kind of machine, by cibuildwheel: needs Docker or Podman, or a Mac
	@scripts/wheels

sbom: setup-dev  ## what `pip install millstream` brings, as CycloneDX: dist/millstream-*.cdx.json
	@scripts/sbom

wheel-check: setup-dev  ## the tests of a wheel, which is built for them in minutes, and of what else is given away; `make wheel-check WHEEL=dist/millstream-….whl`: of that one
	@MILLSTREAM_WHEEL=$(WHEEL) $(PYTHON_BIN) -m pytest -m wheel $(PYTEST_FLAGS) tests/integration/packaging

clean:  ## forget the environment and everything built
	rm -rf .venv build dist out .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find src -name '*.so' -exec rm {} +
