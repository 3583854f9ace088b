import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.Semaphore;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;

/** Apache Kafka's own clients; README.md says what they print. */
public class Client {
    private static final int ON_THE_WAY = 50;
    private static final long PAUSE_MS = 10;
    private static volatile boolean isSending = true;
    private static volatile boolean isReading = true;

    public static void main(String[] arguments) throws Exception {
        String servers = arguments[0], name = arguments[1], writes = arguments[2], reads = arguments[3];
        int partitions = Integer.parseInt(arguments[4]);
        Thread reading = new Thread(() -> read(servers, name, reads));
        Thread sending = new Thread(() -> send(servers, name, writes, partitions));
        reading.start();
        sending.start();
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        while (commands.readLine() != null) {
            isSending = false;
            sending.join();
        }
        isReading = false;
        reading.join();
    }

    private static void say(String line) {
        synchronized (System.out) {
            System.out.println(line);
        }
    }

    private static void send(String servers, String name, String topic, int partitions) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", servers);
        settings.put("key.serializer", "org.apache.kafka.common.serialization.StringSerializer");
        settings.put("value.serializer", "org.apache.kafka.common.serialization.StringSerializer");
        Semaphore free = new Semaphore(ON_THE_WAY);
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(settings)) {
            for (int number = 0; isSending; number++) {
                int partition = number % partitions;
                String value = name + "-" + number;
                free.acquire();
                say("S " + partition + " " + value);
                producer.send(new ProducerRecord<>(topic, partition, null, value), (metadata, error) -> {
                    free.release();
                    say(error == null ? "A " + partition + " " + metadata.offset() + " " + value : "E " + error);
                });
                Thread.sleep(PAUSE_MS);
            }
            producer.flush();
        } catch (Exception error) {
            say("E " + error);
        }
        say("DONE");
    }

    private static void read(String servers, String group, String topic) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", servers);
        settings.put("group.id", group);
        settings.put("auto.offset.reset", "earliest");
        settings.put("key.deserializer", "org.apache.kafka.common.serialization.StringDeserializer");
        settings.put("value.deserializer", "org.apache.kafka.common.serialization.StringDeserializer");
        try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(settings)) {
            consumer.subscribe(List.of(topic), new ConsumerRebalanceListener() {
                public void onPartitionsRevoked(Collection<TopicPartition> partitions) { }

                public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
                    say("M");
                }
            });
            while (isReading) {
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(200))) {
                    say("R " + record.partition() + " " + record.offset() + " " + record.value());
                }
            }
        } catch (Exception error) {
            say("E " + error);
        }
    }
}
