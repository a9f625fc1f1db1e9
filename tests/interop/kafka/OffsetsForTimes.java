import java.time.Duration;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndTimestamp;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** Prints the offset and the time of the first record at or after each time, or null. */
public class OffsetsForTimes {
    public static void main(String[] args) {
        Properties config = new Properties();
        config.put("bootstrap.servers", args[0]);
        TopicPartition place = new TopicPartition(args[1], 0);
        try (var consumer = new KafkaConsumer<>(
                config, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            for (int at = 2; at < args.length; at++) {
                OffsetAndTimestamp found = consumer
                        .offsetsForTimes(Map.of(place, Long.parseLong(args[at])), Duration.ofSeconds(20))
                        .get(place);
                System.out.println(found == null ? "null" : found.offset() + " " + found.timestamp());
            }
        }
    }
}
