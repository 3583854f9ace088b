import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.IntPredicate;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.controller.PartitionChangeBuilder;
import org.apache.kafka.metadata.LeaderRecoveryState;
import org.apache.kafka.metadata.PartitionRegistration;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.common.MetadataVersion;

/** Reads cases as lines of JSON, writes the record that Kafka's own PartitionChangeBuilder makes, a line each. See README.md. */
public final class PartitionChangeJudge {
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

    private static void judge(JsonNode question, ObjectNode answer) {
        JsonNode before = question.get("before"), target = question.get("target");
        PartitionRegistration partition = new PartitionRegistration.Builder()
            .setReplicas(array(before.get("replicas")))
            .setDirectories(directories(before.get("directories")))
            .setIsr(array(before.get("isr")))
            .setElr(array(before.get("elr")))
            .setLastKnownElr(array(before.get("last_known_elr")))
            .setRemovingReplicas(array(before.get("removing")))
            .setAddingReplicas(array(before.get("adding")))
            .setLeader(before.get("leader").asInt())
            .setLeaderRecoveryState(LeaderRecoveryState.of((byte) before.get("recovery").asInt()))
            .setLeaderEpoch(5)
            .setPartitionEpoch(7)
            .build();
        List<Integer> canLead = list(question.get("can_lead"));
        IntPredicate isAcceptable = canLead::contains;
        PartitionChangeBuilder builder = new PartitionChangeBuilder(
            partition, new Uuid(1, 1), 0, isAcceptable,
            MetadataVersion.fromFeatureLevel((short) question.get("level").asInt()),
            question.get("min_isr").asInt(), question.get("elr").asBoolean());
        builder.setElection(PartitionChangeBuilder.Election.valueOf(target.get("election").asText()));
        builder.setDefaultDirProvider(broker -> new Uuid(9, broker));
        if (target.has("isr")) builder.setTargetIsr(list(target.get("isr")));
        if (target.has("replicas")) builder.setTargetReplicas(list(target.get("replicas")));
        if (target.has("removing")) builder.setTargetRemoving(list(target.get("removing")));
        if (target.has("adding")) builder.setTargetAdding(list(target.get("adding")));
        if (target.has("recovery")) {
            builder.setTargetLeaderRecoveryState(LeaderRecoveryState.of((byte) target.get("recovery").asInt()));
        }
        if (target.has("unclean")) builder.setUncleanShutdownReplicas(list(target.get("unclean")));
        if (target.has("moved")) {
            builder.setDirectory(target.get("moved").get(0).asInt(), new Uuid(9, target.get("moved").get(1).asInt()));
        }
        Optional<ApiMessageAndVersion> built = builder.build();
        if (built.isEmpty()) return;
        PartitionChangeRecord record = (PartitionChangeRecord) built.get().message();
        answer.put("leader", record.leader());
        answer.put("recovery", record.leaderRecoveryState());
        put(answer, "isr", record.isr());
        put(answer, "elr", record.eligibleLeaderReplicas());
        put(answer, "last_known_elr", record.lastKnownElr());
        put(answer, "replicas", record.replicas());
        put(answer, "removing", record.removingReplicas());
        put(answer, "adding", record.addingReplicas());
        if (record.directories() != null) {
            List<Integer> numbers = new ArrayList<>();
            for (Uuid each : record.directories()) numbers.add((int) each.getLeastSignificantBits());
            put(answer, "directories", numbers);
        }
    }

    private static void put(ObjectNode answer, String name, List<Integer> values) {
        if (values != null) answer.set(name, JSON.valueToTree(values));
    }

    private static List<Integer> list(JsonNode values) {
        List<Integer> found = new ArrayList<>();
        values.forEach(each -> found.add(each.asInt()));
        return found;
    }

    private static int[] array(JsonNode values) {
        return list(values).stream().mapToInt(Integer::intValue).toArray();
    }

    private static Uuid[] directories(JsonNode values) {
        return list(values).stream().map(each -> new Uuid(9, each)).toArray(Uuid[]::new);
    }
}
