import java.time.Duration;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.CloseOptions;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Joined;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.TimeWindows;
import org.apache.kafka.streams.kstream.WindowedSerdes;

/**
 * The topologies of topologies.py in Kafka Streams: `Topologies TOPOLOGY SOURCE OUT name=value...`.
 * Runs one instance until its standard input ends, and leaves the group.
 */
public class Topologies {
    static final Serde<String> STRING = Serdes.String();
    static final Serde<byte[]> BYTES = Serdes.ByteArray();
    static final Serde<Long> LONG = Serdes.Long();
    static final Duration TEN_SECONDS = Duration.ofSeconds(10);

    public static void main(String[] arguments) throws Exception {
        Properties settings = new Properties();
        for (int n = 3; n < arguments.length; n++) {
            String[] setting = arguments[n].split("=", 2);
            settings.put(setting[0], setting[1]);
        }
        StreamsBuilder builder = new StreamsBuilder();
        build(builder, arguments[0], arguments[1], arguments[2]);
        KafkaStreams streams = new KafkaStreams(builder.build(), settings);
        streams.setUncaughtExceptionHandler(error -> {
            error.printStackTrace();
            return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
        });
        streams.start();
        while (System.in.read() >= 0) { }
        streams.close(CloseOptions.timeout(Duration.ofSeconds(30))
            .withGroupMembershipOperation(CloseOptions.GroupMembershipOperation.LEAVE_GROUP));
        Runtime.getRuntime().halt(0);  // threads that wait for a broker that has gone would stay
    }

    static void build(StreamsBuilder builder, String topology, String source, String out) {
        switch (topology) {
            case "pass_through" -> builder.stream(source, Consumed.with(BYTES, BYTES))
                .to(out, Produced.with(BYTES, BYTES));
            case "map_values" -> builder.stream(source, Consumed.with(STRING, STRING))
                .mapValues(value -> value.toUpperCase())
                .to(out, Produced.with(STRING, STRING));
            case "count" -> builder.stream(source, Consumed.with(STRING, BYTES))
                .groupByKey(Grouped.with(STRING, BYTES))
                .count()
                .toStream()
                .to(out, Produced.with(STRING, LONG));
            case "window_count" -> builder.stream(source, Consumed.with(STRING, BYTES))
                .groupByKey(Grouped.with(STRING, BYTES))
                .windowedBy(TimeWindows.ofSizeWithNoGrace(TEN_SECONDS))
                .count()
                .toStream()
                .to(out, Produced.with(
                    WindowedSerdes.timeWindowedSerdeFrom(String.class, TEN_SECONDS.toMillis()), LONG));
            case "join" -> {
                KTable<String, String> table =
                    builder.table(source + "-table", Consumed.with(STRING, STRING));
                builder.stream(source, Consumed.with(STRING, STRING))
                    .join(table, (left, right) -> left + right, Joined.with(STRING, STRING, STRING))
                    .to(out, Produced.with(STRING, STRING));
            }
            case "latest" -> builder.stream(source, Consumed.with(BYTES, BYTES))
                .groupByKey(Grouped.with(BYTES, BYTES))
                .reduce((before, now) -> now)
                .toStream()
                .to(out, Produced.with(BYTES, BYTES));
            default -> throw new IllegalArgumentException("no topology named " + topology);
        }
    }
}
