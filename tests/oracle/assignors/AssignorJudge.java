import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Assignment;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupSubscription;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.clients.consumer.RoundRobinAssignor;
import org.apache.kafka.clients.consumer.StickyAssignor;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;

/** Reads cases as lines of JSON, writes what Kafka's own assignors answer, a line each. See README.md. */
public final class AssignorJudge {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            ObjectNode answer = JSON.createObjectNode();
            try {
                judge(JSON.readTree(line), answer);
            } catch (RuntimeException error) {
                answer.put("error", error.toString());
            }
            System.out.println(JSON.writeValueAsString(answer));
        }
    }

    private static ConsumerPartitionAssignor assignor(String name) {
        return switch (name) {
            case "range" -> new RangeAssignor();
            case "roundrobin" -> new RoundRobinAssignor();
            case "sticky" -> new StickyAssignor();
            case "cooperative-sticky" -> new CooperativeStickyAssignor();
            default -> throw new IllegalArgumentException(name);
        };
    }

    private static void judge(JsonNode question, ObjectNode answer) {
        String name = question.get("assignor").asText();
        ObjectNode userData = answer.putObject("user_data");
        Map<String, Subscription> subscriptions = new TreeMap<>();
        question.get("members").fields().forEachRemaining(member -> {
            Subscription said = subscription(name, member.getKey(), member.getValue());
            subscriptions.put(member.getKey(), said);
            ByteBuffer data = said.userData();
            userData.put(member.getKey(), data == null ? null
                : Base64.getEncoder().encodeToString(bytes(data)));
        });
        Map<String, Assignment> assigned = assignor(name)
            .assign(cluster(question.get("topics")), new GroupSubscription(subscriptions))
            .groupAssignment();
        ObjectNode assignment = answer.putObject("assignment");
        new TreeMap<>(assigned).forEach((member, given) -> {
            ArrayNode partitions = assignment.putArray(member);
            given.partitions().stream()
                .map(TopicPartition::toString)
                .sorted()
                .forEach(partitions::add);
        });
    }

    private static byte[] bytes(ByteBuffer data) {
        byte[] copy = new byte[data.remaining()];
        data.duplicate().get(copy);
        return copy;
    }

    /** What the member would send: its assignor is told of the last assignment, as a consumer tells it. */
    private static Subscription subscription(String assignorName, String member, JsonNode said) {
        List<String> topics = new ArrayList<>();
        said.get("topics").forEach(topic -> topics.add(topic.asText()));
        List<TopicPartition> owned = new ArrayList<>();
        said.get("owned").forEach(item -> owned.add(partition(item.asText())));
        int generation = said.get("generation").asInt();
        Optional<String> instance = text(said, "instance");
        ConsumerPartitionAssignor own = assignor(assignorName);
        if (generation >= 0) {
            own.onAssignment(new Assignment(owned), new ConsumerGroupMetadata("group", generation, member, instance));
        }
        ByteBuffer userData = own.subscriptionUserData(new HashSet<>(topics));
        boolean isCooperative = assignorName.startsWith("cooperative");
        Subscription subscription = new Subscription(
            topics, userData, isCooperative ? owned : Collections.emptyList(), generation, text(said, "rack"));
        subscription.setGroupInstanceId(instance);
        return subscription;
    }

    private static Optional<String> text(JsonNode said, String key) {
        JsonNode value = said.get(key);
        return value == null || value.isNull() ? Optional.empty() : Optional.of(value.asText());
    }

    private static TopicPartition partition(String name) {
        int dash = name.lastIndexOf('-');
        return new TopicPartition(name.substring(0, dash), Integer.parseInt(name.substring(dash + 1)));
    }

    private static Cluster cluster(JsonNode topics) {
        Map<String, Node> nodes = new HashMap<>();
        List<PartitionInfo> partitions = new ArrayList<>();
        topics.fields().forEachRemaining(topic -> {
            int index = 0;
            for (JsonNode racks : topic.getValue()) {
                List<Node> replicas = new ArrayList<>();
                racks.forEach(rack -> replicas.add(nodes.computeIfAbsent(
                    rack.asText(), name -> new Node(nodes.size(), "host", 9092, name))));
                Node[] array = replicas.toArray(new Node[0]);
                partitions.add(new PartitionInfo(topic.getKey(), index++, null, array, array));
            }
        });
        Set<String> none = Collections.emptySet();
        return new Cluster("cluster", nodes.values(), partitions, none, none);
    }
}
