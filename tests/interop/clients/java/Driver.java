import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.function.BooleanSupplier;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.OffsetAndTimestamp;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.GroupIdNotFoundException;
import org.apache.kafka.common.errors.GroupNotEmptyException;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Tries one feature of Kafka's Java client; exit codes as in tests/interop/clients/harness.py. */
public final class Driver {
    private static final int NO_SUCH_CALL = 4;
    private static final long PATIENCE_MS = 25_000;
    private static final List<String> VALUES = new ArrayList<>();

    static {
        for (int number = 0; number < 100; number++) {
            VALUES.add(("value " + number + " ").repeat(20));
        }
    }

    private interface Feature {
        void run() throws Exception;
    }

    private final String bootstrap;
    private final String name;
    private final TopicPartition first;
    private final Admin admin;

    private Driver(String bootstrap, String name) {
        this.bootstrap = bootstrap;
        this.name = name;
        this.first = new TopicPartition(name, 0);
        this.admin = Admin.create(options());
    }

    public static void main(String[] arguments) {
        Driver driver = new Driver(arguments[1], arguments[2]);
        Feature feature = driver.features().get(arguments[0]);
        if (feature == null) {
            System.exit(NO_SUCH_CALL);
        }
        try {
            feature.run();
        } catch (ExecutionException error) {
            System.err.println(error.getCause());
            System.exit(1);
        } catch (Exception | AssertionError error) {
            error.printStackTrace();
            System.err.println(error.toString().lines().findFirst().orElse("?"));
            System.exit(1);
        }
        // Not exit: a member that is told to stop ends while the JVM is already shutting down.
        Runtime.getRuntime().halt(0);
    }

    private Map<String, Feature> features() {
        Map<String, Feature> all = new LinkedHashMap<>();
        for (String codec : List.of("none", "gzip", "snappy", "lz4", "zstd")) {
            all.put("produce-" + codec, () -> roundTrip("compression.type", codec));
        }
        for (String acks : List.of("0", "1", "all")) {
            all.put("acks-" + acks, () -> roundTrip("acks", acks, "enable.idempotence", "false"));
        }
        all.put("idempotent", () -> roundTrip("enable.idempotence", "true"));
        all.put("fetch-from", this::fetchFrom);
        all.put("fetch-wait", this::fetchWait);
        all.put("fetch-committed", this::fetchCommitted);
        all.put("offsets-ends", this::ends);
        all.put("offsets-time", this::byTime);
        all.put("offsets-max-time", this::maxTime);
        all.put("member", this::member);
        all.put("topic-create", () -> create(1));
        all.put("topic-delete", this::delete);
        all.put("topic-describe", this::describe);
        all.put("topic-grow", this::grow);
        all.put("configs-describe", this::configs);
        all.put("configs-broker", this::brokerConfigs);
        all.put("configs-alter", this::alter);
        all.put("delete-records", this::deleteRecords);
        all.put("log-dirs", this::logDirs);
        all.put("cluster", this::cluster);
        all.put("positions", this::positions);
        all.put("group-join", () -> join("org.apache.kafka.clients.consumer.RangeAssignor"));
        all.put("group-cooperative", () -> join("org.apache.kafka.clients.consumer.CooperativeStickyAssignor"));
        all.put("group-static", this::staticMember);
        all.put("group-resume", this::resume);
        all.put("group-list", this::groupList);
        all.put("group-describe", this::groupDescribe);
        all.put("group-offsets", this::groupOffsets);
        all.put("group-reset", this::groupReset);
        all.put("group-delete-offsets", this::groupDeleteOffsets);
        all.put("group-delete", this::groupDelete);
        return all;
    }

    private Properties options(String... pairs) {
        Properties made = new Properties();
        made.put("bootstrap.servers", bootstrap);
        for (int at = 0; at < pairs.length; at += 2) {
            made.put(pairs[at], pairs[at + 1]);
        }
        return made;
    }

    private KafkaConsumer<byte[], byte[]> consumer(String... pairs) {
        Properties made = options(pairs);
        made.putIfAbsent("group.id", name);
        made.putIfAbsent("enable.auto.commit", "false");
        made.putIfAbsent("auto.offset.reset", "earliest");
        return new KafkaConsumer<>(made, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    private void create(int partitions, String... pairs) throws Exception {
        Map<String, String> configs = new HashMap<>();
        for (int at = 0; at < pairs.length; at += 2) {
            configs.put(pairs[at], pairs[at + 1]);
        }
        admin.createTopics(List.of(new NewTopic(name, partitions, (short) 1).configs(configs))).all().get();
    }

    private void produce(List<String> values, boolean spread, String... pairs) throws Exception {
        Properties made = options(pairs);
        made.put("linger.ms", "20");
        try (var producer = new KafkaProducer<>(made, new ByteArraySerializer(), new ByteArraySerializer())) {
            List<Future<?>> sent = new ArrayList<>();
            for (String value : values) {
                byte[] key = bytes(spread ? value : "k");
                var record = new ProducerRecord<>(name, spread ? null : 0, key, bytes(value));
                record.headers().add("h", bytes("1"));
                sent.add(producer.send(record));
            }
            for (Future<?> one : sent) {
                one.get();
            }
        }
    }

    private List<ConsumerRecord<byte[], byte[]>> take(KafkaConsumer<byte[], byte[]> from, int count) {
        List<ConsumerRecord<byte[], byte[]>> found = new ArrayList<>();
        eventually(count + " records", () -> {
            from.poll(Duration.ofMillis(500)).forEach(found::add);
            return found.size() >= count;
        });
        return found.subList(0, count);
    }

    private List<ConsumerRecord<byte[], byte[]>> read(long offset, int count, String... pairs) {
        try (var consumer = consumer(pairs)) {
            consumer.assign(List.of(first));
            consumer.seek(first, offset);
            return take(consumer, count);
        }
    }

    private void roundTrip(String... pairs) throws Exception {
        create(1);
        produce(VALUES, false, pairs);
        List<String> found = new ArrayList<>();
        for (var record : read(0, VALUES.size())) {
            found.add(text(record.value()));
            expect(text(record.key()) + text(record.headers().lastHeader("h").value()), "k1");
        }
        expect(found, VALUES);
    }

    private void fetchFrom() throws Exception {
        create(1);
        produce(VALUES, false);
        expect(text(read(42, 1).get(0).value()), VALUES.get(42));
    }

    private void fetchWait() throws Exception {
        create(1);
        try (var consumer = consumer()) {
            consumer.assign(List.of(first));
            consumer.seekToEnd(List.of(first));
            consumer.poll(Duration.ofMillis(500));
            produce(List.of("new"), false);
            expect(text(take(consumer, 1).get(0).value()), "new");
        }
    }

    private void fetchCommitted() throws Exception {
        create(1);
        produce(VALUES, false);
        expect(read(0, 100, "isolation.level", "read_committed").size(), 100);
    }

    private void ends() throws Exception {
        create(1);
        produce(VALUES, false);
        expect(offset(OffsetSpec.earliest()), 0L);
        expect(offset(OffsetSpec.latest()), 100L);
    }

    private long offset(OffsetSpec spec) throws Exception {
        return admin.listOffsets(Map.of(first, spec)).partitionResult(first).get().offset();
    }

    private void byTime() throws Exception {
        create(1);
        produce(VALUES, false);
        long atMs = read(0, 1).get(0).timestamp();
        try (var consumer = consumer()) {
            OffsetAndTimestamp found = consumer.offsetsForTimes(Map.of(first, atMs)).get(first);
            expect(found.offset(), 0L);
            expect(consumer.offsetsForTimes(Map.of(first, atMs + 1_000_000_000L)).get(first), null);
        }
    }

    private void maxTime() throws Exception {
        create(1);
        produce(VALUES, false);
        var found = admin.listOffsets(Map.of(first, OffsetSpec.maxTimestamp())).partitionResult(first).get();
        expect(found.timestamp(), read(found.offset(), 1).get(0).timestamp());
    }

    private void delete() throws Exception {
        create(1);
        admin.deleteTopics(List.of(name)).all().get();
        eventually("the topic is gone", () -> !got(admin.listTopics().names()).contains(name));
    }

    private TopicDescription described() throws Exception {
        return admin.describeTopics(List.of(name)).allTopicNames().get().get(name);
    }

    private void describe() throws Exception {
        create(3);
        var found = described();
        expect(found.partitions().size(), 3);
        expect(found.partitions().get(0).leader().id(), found.partitions().get(0).isr().get(0).id());
    }

    private void grow() throws Exception {
        create(2);
        admin.createPartitions(Map.of(name, NewPartitions.increaseTo(5))).all().get();
        eventually("five partitions", () -> got(() -> described().partitions().size()) == 5);
    }

    private ConfigResource topic() {
        return new ConfigResource(ConfigResource.Type.TOPIC, name);
    }

    private String setting(String key) throws Exception {
        return admin.describeConfigs(List.of(topic())).all().get().get(topic()).get(key).value();
    }

    private void configs() throws Exception {
        create(1, "retention.ms", "7200000");
        expect(setting("retention.ms"), "7200000");
        expect(setting("cleanup.policy"), "delete");
    }

    private void brokerConfigs() throws Exception {
        String node = admin.describeCluster().controller().get().idString();
        var broker = new ConfigResource(ConfigResource.Type.BROKER, node);
        var found = admin.describeConfigs(List.of(broker)).all().get().get(broker);
        expect(found.get("message.max.bytes") != null, true);
    }

    private void alter() throws Exception {
        create(1);
        var set = new AlterConfigOp(new ConfigEntry("retention.ms", "7200000"), AlterConfigOp.OpType.SET);
        admin.incrementalAlterConfigs(Map.of(topic(), List.<AlterConfigOp>of(set))).all().get();
        eventually("the new setting", () -> got(() -> setting("retention.ms")).equals("7200000"));
        var unset = new AlterConfigOp(new ConfigEntry("retention.ms", ""), AlterConfigOp.OpType.DELETE);
        admin.incrementalAlterConfigs(Map.of(topic(), List.<AlterConfigOp>of(unset))).all().get();
        eventually("the default again", () -> got(() -> setting("retention.ms")).equals("604800000"));
    }

    private void deleteRecords() throws Exception {
        create(1);
        produce(VALUES, false);
        var result = admin.deleteRecords(Map.of(first, RecordsToDelete.beforeOffset(40)));
        expect(result.lowWatermarks().get(first).get().lowWatermark(), 40L);
        expect(offset(OffsetSpec.earliest()), 40L);
    }

    private void logDirs() throws Exception {
        create(1);
        produce(VALUES, false);
        int node = admin.describeCluster().controller().get().id();
        long size = 0;
        for (var folder : admin.describeLogDirs(List.of(node)).allDescriptions().get().get(node).values()) {
            var replica = folder.replicaInfos().get(first);
            size += replica == null ? 0 : replica.size();
        }
        expect(size > 0, true);
    }

    private void cluster() throws Exception {
        expect(admin.describeCluster().nodes().get().size(), 1);
        expect(admin.describeCluster().clusterId().get().isEmpty(), false);
    }

    private void positions() throws Exception {
        create(1);
        produce(VALUES, false);
        try (var consumer = consumer()) {
            consumer.assign(List.of(first));
            consumer.commitSync(Map.of(first, new OffsetAndMetadata(7, "here")));
        }
        try (var consumer = consumer()) {
            var found = consumer.committed(Set.of(first)).get(first);
            expect(found.offset() + found.metadata(), "7here");
        }
    }

    private void join(String assignor) throws Exception {
        create(4);
        produce(VALUES, true);
        try (var one = consumer("partition.assignment.strategy", assignor);
                var two = consumer("partition.assignment.strategy", assignor)) {
            one.subscribe(List.of(name));
            two.subscribe(List.of(name));
            Set<String> seen = new HashSet<>();
            eventually("both members own partitions, and every record came", () -> {
                one.poll(Duration.ofMillis(100)).forEach(record -> seen.add(text(record.value())));
                two.poll(Duration.ofMillis(100)).forEach(record -> seen.add(text(record.value())));
                Set<TopicPartition> all = new HashSet<>(one.assignment());
                all.addAll(two.assignment());
                boolean once = one.assignment().size() + two.assignment().size() == 4 && all.size() == 4;
                boolean each = !one.assignment().isEmpty() && !two.assignment().isEmpty();
                return once && each && seen.size() == VALUES.size();
            });
        }
    }

    private void staticMember() throws Exception {
        create(2);
        String member = null;
        for (int turn = 0; turn < 2; turn++) {
            try (var consumer = consumer("group.instance.id", "one", "session.timeout.ms", "30000")) {
                consumer.subscribe(List.of(name));
                eventually("an assignment", () -> {
                    consumer.poll(Duration.ofMillis(100));
                    return consumer.assignment().size() == 2;
                });
                int generation = consumer.groupMetadata().generationId();
                expect(generation, 1);
                expect(consumer.groupMetadata().memberId().equals(member), false);
                member = consumer.groupMetadata().memberId();
            }
        }
    }

    private void resume() throws Exception {
        create(1);
        produce(VALUES, false);
        try (var consumer = consumer("max.poll.records", "10")) {
            consumer.subscribe(List.of(name));
            take(consumer, 30);
            consumer.commitSync();
        }
        try (var consumer = consumer()) {
            consumer.subscribe(List.of(name));
            expect(text(take(consumer, 1).get(0).value()), VALUES.get(30));
        }
    }

    /** Until it is told to stop; see Member in tests/interop/clients/harness.py. */
    private void member() throws Exception {
        String[] said = name.split(",", -1);
        String assignor = said[1].equals("range") ? "RangeAssignor" : "CooperativeStickyAssignor";
        Properties made = options(
                "group.id", said[0] + "-group", "session.timeout.ms", "6000", "heartbeat.interval.ms", "500",
                "max.poll.records", "1", "enable.auto.commit", "false", "auto.offset.reset", "earliest",
                "partition.assignment.strategy", "org.apache.kafka.clients.consumer." + assignor);
        if (!said[2].isEmpty()) {
            made.put("group.instance.id", said[2]);
        }
        Thread main = Thread.currentThread();
        try (var consumer = new KafkaConsumer<>(made, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            Runtime.getRuntime().addShutdownHook(new Thread(() -> {
                consumer.wakeup();
                try {
                    main.join();
                } catch (InterruptedException error) {
                    Thread.currentThread().interrupt();
                }
            }));
            int[] generation = {-1};
            Set<Integer> owned = new TreeSet<>();
            consumer.subscribe(List.of(said[0]), new ConsumerRebalanceListener() {
                public void onPartitionsAssigned(Collection<TopicPartition> assigned) {
                    generation[0] = consumer.groupMetadata().generationId();
                    assigned.forEach(at -> owned.add(at.partition()));
                    tell(generation[0], owned);
                }

                public void onPartitionsRevoked(Collection<TopicPartition> revoked) {
                    revoked.forEach(at -> owned.remove(at.partition()));
                    tell(generation[0], owned);
                }
            });
            while (true) {
                for (var record : consumer.poll(Duration.ofMillis(200))) {
                    System.out.println("record " + generation[0] + " " + record.partition() + " " + record.offset());
                    System.out.flush();
                    try {
                        consumer.commitSync();
                    } catch (KafkaException error) {
                        if (error instanceof WakeupException) {
                            throw error;
                        }
                    }
                }
            }
        } catch (WakeupException stopped) {
            // SIGTERM: the group is left as the block ends.
        }
    }

    private static void tell(int generation, Set<Integer> owned) {
        StringBuilder line = new StringBuilder("owns " + generation);
        owned.forEach(partition -> line.append(' ').append(partition));
        System.out.println(line);
        System.out.flush();
    }

    private KafkaConsumer<byte[], byte[]> joined() throws Exception {
        create(1);
        produce(VALUES, false);
        var consumer = consumer("max.poll.records", "10");
        consumer.subscribe(List.of(name));
        take(consumer, 10);
        consumer.commitSync();
        return consumer;
    }

    private void groupList() throws Exception {
        try (var consumer = joined()) {
            var found = admin.listGroups().all().get().stream().filter(group -> group.groupId().equals(name));
            expect(found.map(group -> group.groupState().get().toString()).toList(), List.of("Stable"));
        }
    }

    private ConsumerGroupDescription group(String id) throws Exception {
        return admin.describeConsumerGroups(List.of(id)).all().get().get(id);
    }

    private void groupDescribe() throws Exception {
        try (var consumer = joined()) {
            var member = group(name).members().iterator().next();
            expect(member.assignment().topicPartitions(), Set.of(first));
        }
        try {
            group(name + "-unknown");
            throw new AssertionError("a group that does not exist was described");
        } catch (ExecutionException error) {
            expect(error.getCause() instanceof GroupIdNotFoundException, true);
        }
    }

    private Map<TopicPartition, OffsetAndMetadata> offsets() throws Exception {
        return admin.listConsumerGroupOffsets(name).partitionsToOffsetAndMetadata().get();
    }

    private void groupOffsets() throws Exception {
        try (var consumer = joined()) {
            expect(offsets().get(first).offset(), 10L);
        }
    }

    private void groupReset() throws Exception {
        joined().close();
        admin.alterConsumerGroupOffsets(name, Map.of(first, new OffsetAndMetadata(3))).all().get();
        try (var consumer = consumer()) {
            consumer.subscribe(List.of(name));
            expect(text(take(consumer, 1).get(0).value()), VALUES.get(3));
        }
    }

    private void groupDeleteOffsets() throws Exception {
        joined().close();
        admin.deleteConsumerGroupOffsets(name, Set.of(first)).all().get();
        expect(offsets().get(first), null);
    }

    private void groupDelete() throws Exception {
        try (var consumer = joined()) {
            admin.deleteConsumerGroups(List.of(name)).all().get();
            throw new AssertionError("a group with a member was deleted");
        } catch (ExecutionException error) {
            expect(error.getCause() instanceof GroupNotEmptyException, true);
        }
        admin.deleteConsumerGroups(List.of(name)).all().get();
        var left = got(admin.listGroups().all()).stream().filter(group -> group.groupId().equals(name));
        expect(left.count(), 0L);
    }

    private interface Asked<T> {
        T get() throws Exception;
    }

    private static <T> T got(Future<T> future) {
        return got(future::get);
    }

    private static <T> T got(Asked<T> asked) {
        try {
            return asked.get();
        } catch (Exception error) {
            throw new AssertionError(error.toString(), error);
        }
    }

    private static void eventually(String what, BooleanSupplier holds) {
        long end = System.nanoTime() + PATIENCE_MS * 1_000_000;
        while (!holds.getAsBoolean()) {
            if (System.nanoTime() > end) {
                throw new AssertionError("not within " + PATIENCE_MS + " ms: " + what);
            }
        }
    }

    private static void expect(Object found, Object wanted) {
        boolean same = found == null ? wanted == null : found.equals(wanted);
        if (!same) {
            throw new AssertionError("found " + found + ", expected " + wanted);
        }
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static String text(byte[] bytes) {
        return new String(bytes, StandardCharsets.UTF_8);
    }
}
