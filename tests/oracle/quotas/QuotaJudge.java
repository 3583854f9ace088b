import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import kafka.server.ClientRequestQuotaManager;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.metrics.Quota;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.network.Session;
import org.apache.kafka.server.config.ClientQuotaManagerConfig;
import org.apache.kafka.server.quota.ClientQuotaEntity.ConfigEntity;
import org.apache.kafka.server.quota.ClientQuotaManager;
import org.apache.kafka.server.quota.ControllerMutationQuotaManager;
import org.apache.kafka.server.quota.QuotaType;

/** Reads cases as lines of JSON, writes what Kafka's own quota managers answer to their steps, a line each. See README.md. */
public final class QuotaJudge {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            System.out.println(JSON.writeValueAsString(judge(JSON.readTree(line))));
        }
        System.exit(0);
    }

    private static ArrayNode judge(JsonNode question) {
        ArrayNode answers = JSON.createArrayNode();
        ClientQuotaManager manager = manager(question);
        for (JsonNode step : question.get("steps")) {
            switch (step.get(0).asText()) {
                case "quota" -> manager.updateQuota(
                    entity(step.get(1), true), entity(step.get(2), false),
                    step.get(3).isNull() ? Optional.empty() : Optional.of(new Quota(step.get(3).asDouble(), true)));
                case "take" -> answers.add(manager.recordAndGetThrottleTimeMs(
                    session(step), step.get(2).asText(), step.get(3).asDouble(), step.get(4).asLong()));
                case "take_back" -> manager.unrecordQuotaSensor(
                    session(step), step.get(2).asText(), step.get(3).asDouble(), step.get(4).asLong());
                case "largest" -> answers.add(manager.maxValueInQuotaWindow(session(step), step.get(2).asText()));
                default -> throw new IllegalArgumentException(step.toString());
            }
        }
        manager.initiateShutdown();
        return answers;
    }

    private static ClientQuotaManager manager(JsonNode question) {
        ClientQuotaManagerConfig config = new ClientQuotaManagerConfig(question.get("count").asInt(), question.get("size_s").asInt());
        Metrics metrics = new Metrics();
        return switch (question.get("kind").asText()) {
            case "bytes" -> new ClientQuotaManager(config, metrics, QuotaType.PRODUCE, Time.SYSTEM, "");
            case "request" -> new ClientRequestQuotaManager(config, metrics, Time.SYSTEM, "", Optional.empty());
            case "mutation" -> new ControllerMutationQuotaManager(config, metrics, Time.SYSTEM, "", Optional.empty());
            default -> throw new IllegalArgumentException(question.toString());
        };
    }

    /** False: no such part; null: the default. */
    private static Optional<ConfigEntity> entity(JsonNode name, boolean isUser) {
        if (name.isBoolean()) return Optional.empty();
        if (name.isNull()) return Optional.of(isUser ? ClientQuotaManager.DEFAULT_USER_ENTITY : ClientQuotaManager.DEFAULT_USER_CLIENT_ID);
        return Optional.of(isUser ? new ClientQuotaManager.UserEntity(name.asText()) : new ClientQuotaManager.ClientIdEntity(name.asText()));
    }

    private static Session session(JsonNode step) {
        return new Session(new KafkaPrincipal(KafkaPrincipal.USER_TYPE, step.get(1).asText()), InetAddress.getLoopbackAddress());
    }
}
