import java.nio.ByteBuffer;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.assignment.ProcessId;
import org.apache.kafka.streams.processor.internals.assignment.AssignmentInfo;
import org.apache.kafka.streams.processor.internals.assignment.SubscriptionInfo;
import org.apache.kafka.streams.state.HostInfo;

/** Writes the bytes in which Kafka Streams tells its leader of a member, and the leader a member of its tasks. See README.md. */
public final class UserData {
    private static final UUID PROCESS = UUID.fromString("01020304-0506-0708-090a-0b0c0d0e0f10");

    public static void main(String[] arguments) {
        Map<TaskId, Long> tasks = new LinkedHashMap<>();
        tasks.put(new TaskId(0, 1), -2L);
        tasks.put(new TaskId(0, 2), 300L);
        tasks.put(new TaskId(1, 0), 5_000_000_000L);
        Map<String, String> tags = Map.of("zone", "b");
        Map<TaskId, Set<TopicPartition>> standby = new LinkedHashMap<>();
        standby.put(new TaskId(1, 2), Set.of(new TopicPartition("orders", 2)));
        Set<TopicPartition> here = new LinkedHashSet<>(
            List.of(new TopicPartition("orders", 0), new TopicPartition("orders", 1)));
        for (int version = 7; version <= 11; version++) {
            print("subscription_" + version, new SubscriptionInfo(
                version, 11, new ProcessId(PROCESS), "localhost:8080", tasks, (byte) 7, 4, tags).encode());
            print("subscription_of_none_" + version, new SubscriptionInfo(
                version, 11, new ProcessId(PROCESS), null, Map.of(), (byte) -1, 0, Map.of()).encode());
            AssignmentInfo info = new AssignmentInfo(
                version,
                11,
                List.of(new TaskId(0, 0), new TaskId(1, 1)),
                standby,
                Map.of(new HostInfo("localhost", 8080), here),
                Map.of(new HostInfo("localhost", 8080), Set.of(new TopicPartition("orders", 2))),
                0);
            info.setNextRebalanceTime(1_700_000_000_000L);
            print("assignment_" + version, info.encode());
            print("assignment_of_none_" + version, new AssignmentInfo(
                version, version, List.of(), Map.of(), Map.of(), Map.of(), 4).encode());
        }
    }

    private static void print(String name, ByteBuffer data) {
        byte[] bytes = new byte[data.remaining()];
        data.duplicate().get(bytes);
        System.out.println(name + " " + HexFormat.of().formatHex(bytes));
    }
}
