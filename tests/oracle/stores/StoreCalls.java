import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.function.Function;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.TopologyTestDriver;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.kstream.internals.SessionWindow;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.AggregationWithHeaders;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.SessionStore;
import org.apache.kafka.streams.state.StoreBuilder;
import org.apache.kafka.streams.state.Stores;
import org.apache.kafka.streams.state.ValueAndTimestamp;
import org.apache.kafka.streams.state.ValueTimestampHeaders;
import org.apache.kafka.streams.state.VersionedKeyValueStore;
import org.apache.kafka.streams.state.VersionedRecord;
import org.apache.kafka.streams.state.WindowStore;

/** Calls methods of stores inside a processor and records what they give: cases (JSON lines) in, with "expect" out. */
public final class StoreCalls {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            ObjectNode oneCase = (ObjectNode) JSON.readTree(line);
            oneCase.set("expect", run(oneCase));
            System.out.println(JSON.writeValueAsString(oneCase));
        }
    }

    private static ArrayNode run(ObjectNode oneCase) throws Exception {
        ArrayNode results = JSON.createArrayNode();
        JsonNode spec = oneCase.get("store");
        Topology topology = new Topology();
        topology.addSource("source", new StringDeserializer(), new StringDeserializer(), "in");
        topology.addProcessor("calls", () -> new Calls(spec, results), "source");
        topology.addStateStore(builder(spec), "calls");
        Properties config = new Properties();
        config.put("application.id", "app");
        config.put("bootstrap.servers", "nowhere:1");
        config.put("state.dir", Files.createTempDirectory("calls").toString());
        try (TopologyTestDriver driver = new TopologyTestDriver(topology, config)) {
            var input = driver.createInputTopic("in", new StringSerializer(), new StringSerializer());
            for (JsonNode batch : oneCase.get("batches")) {
                input.pipeInput("k", batch.get(1).toString(), batch.get(0).asLong());
            }
        }
        return results;
    }

    private static StoreBuilder<?> builder(JsonNode spec) {
        StoreBuilder<?> made = plainBuilder(spec);
        return spec.path("caching").asBoolean() ? made.withCachingEnabled() : made.withCachingDisabled();
    }

    private static StoreBuilder<?> plainBuilder(JsonNode spec) {
        if (spec.path("headers").asBoolean()) {
            return headersBuilder(spec);
        }
        boolean disk = spec.get("persistent").asBoolean();
        Duration retention = Duration.ofMillis(spec.path("retention").asLong());
        Duration size = Duration.ofMillis(spec.path("window_size").asLong());
        boolean duplicates = spec.path("duplicates").asBoolean();
        var text = Serdes.String();
        switch (spec.get("kind").asText()) {
            case "key_value":
                if (spec.has("max")) {
                    return Stores.keyValueStoreBuilder(Stores.lruMap("s", spec.get("max").asInt()), text, text);
                }
                return Stores.keyValueStoreBuilder(
                    disk ? Stores.persistentKeyValueStore("s") : Stores.inMemoryKeyValueStore("s"), text, text);
            case "timestamped_key_value":
                return Stores.timestampedKeyValueStoreBuilder(
                    disk ? Stores.persistentTimestampedKeyValueStore("s") : Stores.inMemoryKeyValueStore("s"), text, text);
            case "window":
                return Stores.windowStoreBuilder(
                    disk ? Stores.persistentWindowStore("s", retention, size, duplicates)
                        : Stores.inMemoryWindowStore("s", retention, size, duplicates), text, text);
            case "timestamped_window":
                return Stores.timestampedWindowStoreBuilder(
                    disk ? Stores.persistentTimestampedWindowStore("s", retention, size, duplicates)
                        : Stores.inMemoryWindowStore("s", retention, size, duplicates), text, text);
            case "session":
                return Stores.sessionStoreBuilder(
                    disk ? Stores.persistentSessionStore("s", retention) : Stores.inMemorySessionStore("s", retention), text, text);
            case "versioned":
                return Stores.versionedKeyValueStoreBuilder(Stores.persistentVersionedKeyValueStore("s", retention), text, text);
            default:
                throw new IllegalArgumentException(spec.toString());
        }
    }

    private static StoreBuilder<?> headersBuilder(JsonNode spec) {
        boolean disk = spec.get("persistent").asBoolean();
        Duration retention = Duration.ofMillis(spec.path("retention").asLong());
        Duration size = Duration.ofMillis(spec.path("window_size").asLong());
        var text = Serdes.String();
        switch (spec.get("kind").asText()) {
            case "timestamped_key_value":
                return Stores.timestampedKeyValueStoreWithHeadersBuilder(
                    disk ? Stores.persistentTimestampedKeyValueStoreWithHeaders("s") : Stores.inMemoryKeyValueStore("s"), text, text);
            case "timestamped_window":
                return Stores.timestampedWindowStoreWithHeadersBuilder(
                    disk ? Stores.persistentTimestampedWindowStoreWithHeaders("s", retention, size, false)
                        : Stores.inMemoryWindowStore("s", retention, size, false), text, text);
            case "session":
                return Stores.sessionStoreWithHeadersBuilder(
                    disk ? Stores.persistentSessionStoreWithHeaders("s", retention) : Stores.inMemorySessionStore("s", retention), text, text);
            default:
                throw new IllegalArgumentException(spec.toString());
        }
    }

    private static final class Calls implements Processor<String, String, Void, Void> {
        private final JsonNode spec;
        private final ArrayNode results;
        private StateStore store;

        Calls(JsonNode spec, ArrayNode results) {
            this.spec = spec;
            this.results = results;
        }

        @Override
        public void init(ProcessorContext<Void, Void> context) {
            store = context.getStateStore("s");
        }

        @Override
        public void process(Record<String, String> record) {
            ArrayNode given = results.addArray();
            try {
                for (JsonNode call : JSON.readTree(record.value())) {
                    try {
                        given.add(JSON.valueToTree(answer(call)));
                    } catch (RuntimeException error) {
                        given.add("! " + error.getClass().getSimpleName());
                    }
                }
            } catch (java.io.IOException error) {
                throw new IllegalStateException(error);
            }
        }

        private Object answer(JsonNode call) {
            switch (spec.get("kind").asText()) {
                case "key_value": return keyValue(call, this.<KeyValueStore<String, Object>>cast(), c -> text(c, 2));
                case "timestamped_key_value":
                    return keyValue(call, this.<KeyValueStore<String, Object>>cast(), c -> row(text(c, 2), c.get(3).asLong()));
                case "window": return window(call, this.<WindowStore<String, Object>>cast(), c -> text(c, 3));
                case "timestamped_window":
                    return window(call, this.<WindowStore<String, Object>>cast(), c -> row(text(c, 3), c.get(4).asLong()));
                case "session": return session(call, this.<SessionStore<String, Object>>cast(), c -> aggregation(text(c, 4)));
                default: return versioned(call, cast());
            }
        }

        private Object row(String value, long timestamp) {
            return spec.path("headers").asBoolean()
                ? ValueTimestampHeaders.make(value, timestamp, headersFor(value)) : ValueAndTimestamp.make(value, timestamp);
        }

        private Object aggregation(String value) {
            return spec.path("headers").asBoolean() ? AggregationWithHeaders.make(value, headersFor(value)) : value;
        }

        @SuppressWarnings("unchecked")
        private <T> T cast() {
            return (T) store;
        }
    }

    private static Object keyValue(JsonNode call, KeyValueStore<String, Object> store, Function<JsonNode, Object> value) {
        switch (call.get(0).asText()) {
            case "put": store.put(text(call, 1), value.apply(call)); return null;
            case "put_if_absent": return shown(store.putIfAbsent(text(call, 1), value.apply(call)));
            case "put_all": {
                List<KeyValue<String, Object>> rows = new ArrayList<>();
                for (JsonNode row : call.get(1)) {
                    ArrayNode asCall = JSON.createArrayNode().add("put");
                    row.forEach(asCall::add);
                    rows.add(KeyValue.pair(text(asCall, 1), value.apply(asCall)));
                }
                store.putAll(rows);
                return null;
            }
            case "delete": return shown(store.delete(text(call, 1)));
            case "get": return shown(store.get(text(call, 1)));
            case "range": return rows(store.range(text(call, 1), text(call, 2)));
            case "reverse_range": return rows(store.reverseRange(text(call, 1), text(call, 2)));
            case "all": return rows(store.all());
            case "reverse_all": return rows(store.reverseAll());
            case "prefix_scan": return rows(store.prefixScan(text(call, 1), new StringSerializer()));
            case "approximate_num_entries": return store.approximateNumEntries();
            default: throw new IllegalArgumentException(call.toString());
        }
    }

    private static Object window(JsonNode call, WindowStore<String, Object> store, Function<JsonNode, Object> value) {
        switch (call.get(0).asText()) {
            case "put": store.put(text(call, 1), value.apply(call), at(call, 2)); return null;
            case "fetch_at": return shown(store.fetch(text(call, 1), at(call, 2)));
            case "fetch": return rows(store.fetch(text(call, 1), at(call, 2), at(call, 3)));
            case "backward_fetch": return rows(store.backwardFetch(text(call, 1), at(call, 2), at(call, 3)));
            case "fetch_keys": return rows(store.fetch(text(call, 1), text(call, 2), at(call, 3), at(call, 4)));
            case "backward_fetch_keys": return rows(store.backwardFetch(text(call, 1), text(call, 2), at(call, 3), at(call, 4)));
            case "fetch_all": return rows(store.fetchAll(at(call, 1), at(call, 2)));
            case "backward_fetch_all": return rows(store.backwardFetchAll(at(call, 1), at(call, 2)));
            case "all": return rows(store.all());
            case "backward_all": return rows(store.backwardAll());
            default: throw new IllegalArgumentException(call.toString());
        }
    }

    private static Object session(JsonNode call, SessionStore<String, Object> store, Function<JsonNode, Object> value) {
        switch (call.get(0).asText()) {
            case "put": store.put(windowed(call), value.apply(call)); return null;
            case "remove": store.remove(windowed(call)); return null;
            case "fetch_session": return shown(store.fetchSession(text(call, 1), at(call, 2), at(call, 3)));
            case "fetch": return rows(store.fetch(text(call, 1)));
            case "backward_fetch": return rows(store.backwardFetch(text(call, 1)));
            case "find": return rows(store.findSessions(text(call, 1), at(call, 2), at(call, 3)));
            case "backward_find": return rows(store.backwardFindSessions(text(call, 1), at(call, 2), at(call, 3)));
            case "find_keys": return rows(store.findSessions(text(call, 1), text(call, 2), at(call, 3), at(call, 4)));
            case "backward_find_keys": return rows(store.backwardFindSessions(text(call, 1), text(call, 2), at(call, 3), at(call, 4)));
            case "fetch_keys": return rows(store.fetch(text(call, 1), text(call, 2)));
            case "backward_fetch_keys": return rows(store.backwardFetch(text(call, 1), text(call, 2)));
            case "find_ending": return rows(store.findSessions(at(call, 1), at(call, 2)));
            default: throw new IllegalArgumentException(call.toString());
        }
    }

    private static Object versioned(JsonNode call, VersionedKeyValueStore<String, Object> store) {
        switch (call.get(0).asText()) {
            case "put": return store.put(text(call, 1), text(call, 2), at(call, 3));
            case "delete": return shown(store.delete(text(call, 1), at(call, 2)));
            case "get": return shown(store.get(text(call, 1)));
            case "get_as_of": return shown(store.get(text(call, 1), at(call, 2)));
            default: throw new IllegalArgumentException(call.toString());
        }
    }

    private static List<Object> rows(KeyValueIterator<?, Object> found) {
        List<Object> rows = new ArrayList<>();
        try (found) {
            while (found.hasNext()) {
                KeyValue<?, Object> row = found.next();
                rows.add(listOf(shown(row.key), shown(row.value)));
            }
        }
        return rows;
    }

    /** None for every third value, a null header for every fifth, and one that tells the value. */
    private static Headers headersFor(String value) {
        RecordHeaders headers = new RecordHeaders();
        int number = value == null ? 0 : Integer.parseInt(value.substring(1));
        if (number % 3 == 0) {
            return headers;
        }
        if (number % 5 == 0) {
            headers.add("none", (byte[]) null);
        }
        headers.add("value", value.getBytes());
        return headers;
    }

    private static List<Object> shown(Headers headers) {
        List<Object> all = new ArrayList<>();
        headers.forEach(each -> all.add(listOf(each.key(), each.value() == null ? null : new String(each.value()))));
        return all;
    }

    private static Object shown(Object value) {
        if (value instanceof ValueTimestampHeaders<?> row) {
            return listOf(row.value(), row.timestamp(), shown(row.headers()));
        }
        if (value instanceof AggregationWithHeaders<?> row) {
            return listOf(row.aggregation(), shown(row.headers()));
        }
        if (value instanceof ValueAndTimestamp<?> row) {
            return listOf(row.value(), row.timestamp());
        }
        if (value instanceof VersionedRecord<?> row) {
            return listOf(row.value(), row.timestamp(), row.validTo().orElse(null));
        }
        if (value instanceof Windowed<?> key) {
            return listOf(key.key(), key.window().start(), key.window().end());
        }
        return value;
    }

    private static List<Object> listOf(Object... items) {
        return new ArrayList<>(java.util.Arrays.asList(items));
    }

    private static Windowed<String> windowed(JsonNode call) {
        return new Windowed<>(text(call, 1), new SessionWindow(at(call, 2), at(call, 3)));
    }

    private static String text(JsonNode call, int at) {
        return call.get(at).isNull() ? null : call.get(at).asText();
    }

    private static long at(JsonNode call, int at) {
        return call.get(at).asLong();
    }
}
