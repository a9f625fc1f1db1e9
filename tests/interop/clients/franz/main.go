// Command franz tries one feature of franz-go; exit codes as in tests/interop/clients/harness.py.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	noSuchCall = 4
	patience   = 25 * time.Second
)

var (
	bootstrap, name string
	ctx, cancel     = context.WithTimeout(context.Background(), 100*time.Second)
)

func main() {
	defer cancel()
	feature, known := features[os.Args[1]]
	bootstrap, name = os.Args[2], os.Args[3]
	if !known {
		os.Exit(noSuchCall)
	}
	defer func() {
		if found := recover(); found != nil {
			fmt.Fprintln(os.Stderr, found)
			os.Exit(1)
		}
	}()
	feature()
}

var features = map[string]func(){
	"produce-none":         func() { roundTrip(kgo.ProducerBatchCompression(kgo.NoCompression())) },
	"produce-gzip":         func() { roundTrip(kgo.ProducerBatchCompression(kgo.GzipCompression())) },
	"produce-snappy":       func() { roundTrip(kgo.ProducerBatchCompression(kgo.SnappyCompression())) },
	"produce-lz4":          func() { roundTrip(kgo.ProducerBatchCompression(kgo.Lz4Compression())) },
	"produce-zstd":         func() { roundTrip(kgo.ProducerBatchCompression(kgo.ZstdCompression())) },
	"acks-0":               func() { roundTrip(kgo.RequiredAcks(kgo.NoAck()), kgo.DisableIdempotentWrite()) },
	"acks-1":               func() { roundTrip(kgo.RequiredAcks(kgo.LeaderAck()), kgo.DisableIdempotentWrite()) },
	"acks-all":             func() { roundTrip(kgo.RequiredAcks(kgo.AllISRAcks()), kgo.DisableIdempotentWrite()) },
	"idempotent":           func() { roundTrip() },
	"fetch-from":           fetchFrom,
	"fetch-wait":           fetchWait,
	"fetch-committed":      fetchCommitted,
	"offsets-ends":         ends,
	"offsets-time":         byTime,
	"offsets-max-time":     maxTime,
	"member":               follow,
	"topic-create":         func() { create(1) },
	"topic-delete":         remove,
	"topic-describe":       describe,
	"topic-grow":           grow,
	"configs-describe":     configs,
	"configs-broker":       brokerConfigs,
	"configs-alter":        alter,
	"configs-replace":      replace,
	"delete-records":       deleteRecords,
	"log-dirs":             logDirs,
	"cluster":              cluster,
	"positions":            positions,
	"group-join":           func() { join(kgo.RangeBalancer()) },
	"group-cooperative":    func() { join(kgo.CooperativeStickyBalancer()) },
	"group-static":         static,
	"group-resume":         resume,
	"group-list":           groupList,
	"group-describe":       groupDescribe,
	"group-offsets":        groupOffsets,
	"group-reset":          groupReset,
	"group-delete-offsets": groupDeleteOffsets,
	"group-delete":         groupDelete,
}

func values() []string {
	made := make([]string, 100)
	for number := range made {
		made[number] = strings.Repeat(fmt.Sprintf("value %d ", number), 20)
	}
	return made
}

func client(options ...kgo.Opt) *kgo.Client {
	made, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(bootstrap)}, options...)...)
	check(err)
	return made
}

func admin() *kadm.Client { return kadm.NewClient(client()) }

func create(partitions int32, pairs ...string) {
	settings := map[string]*string{}
	for at := 0; at < len(pairs); at += 2 {
		settings[pairs[at]] = &pairs[at+1]
	}
	_, err := admin().CreateTopic(ctx, partitions, 1, settings, name)
	check(err)
}

func produce(values []string, spread bool, options ...kgo.Opt) {
	if !spread {
		options = append(options, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	}
	producer := client(options...)
	defer producer.Close()
	var records []*kgo.Record
	for _, value := range values {
		key := "k"
		if spread {
			key = value
		}
		headers := []kgo.RecordHeader{{Key: "h", Value: []byte("1")}}
		records = append(records, &kgo.Record{Topic: name, Key: []byte(key), Value: []byte(value), Headers: headers})
	}
	check(producer.ProduceSync(ctx, records...).FirstErr())
}

func take(consumer *kgo.Client, count int) []*kgo.Record {
	var found []*kgo.Record
	eventually(fmt.Sprintf("%d records", count), func() bool {
		found = append(found, poll(consumer, count-len(found))...)
		return len(found) == count
	})
	return found
}

func poll(consumer *kgo.Client, most int) []*kgo.Record {
	short, stop := context.WithTimeout(ctx, 300*time.Millisecond)
	defer stop()
	fetches := consumer.PollRecords(short, most)
	for _, failed := range fetches.Errors() {
		if !errors.Is(failed.Err, context.DeadlineExceeded) {
			check(failed.Err)
		}
	}
	return fetches.Records()
}

func reader(offset int64, options ...kgo.Opt) *kgo.Client {
	at := map[string]map[int32]kgo.Offset{name: {0: kgo.NewOffset().At(offset)}}
	return client(append(options, kgo.ConsumePartitions(at))...)
}

func read(offset int64, count int, options ...kgo.Opt) []*kgo.Record {
	consumer := reader(offset, options...)
	defer consumer.Close()
	return take(consumer, count)
}

func roundTrip(options ...kgo.Opt) {
	create(1)
	produce(values(), false, options...)
	found := read(0, 100)
	for number, record := range found {
		expect(string(record.Value), values()[number])
		expect(string(record.Key)+string(record.Headers[0].Value), "k1")
	}
}

func fetchFrom() {
	create(1)
	produce(values(), false)
	expect(string(read(42, 1)[0].Value), values()[42])
}

func fetchWait() {
	create(1)
	consumer := reader(-1)
	defer consumer.Close()
	poll(consumer, 1)
	produce([]string{"new"}, false)
	expect(string(take(consumer, 1)[0].Value), "new")
}

func fetchCommitted() {
	create(1)
	produce(values(), false)
	expect(len(read(0, 100, kgo.FetchIsolationLevel(kgo.ReadCommitted()))), 100)
}

func offset(found kadm.ListedOffsets, err error) kadm.ListedOffset {
	check(err)
	at, _ := found.Lookup(name, 0)
	check(at.Err)
	return at
}

func ends() {
	create(1)
	produce(values(), false)
	expect(offset(admin().ListStartOffsets(ctx, name)).Offset, int64(0))
	expect(offset(admin().ListEndOffsets(ctx, name)).Offset, int64(100))
}

func byTime() {
	create(1)
	produce(values(), false)
	atMs := read(0, 1)[0].Timestamp.UnixMilli()
	expect(offset(admin().ListOffsetsAfterMilli(ctx, atMs, name)).Offset, int64(0))
	// Where no record is that late, kadm itself asks for the end.
	expect(offset(admin().ListOffsetsAfterMilli(ctx, atMs+1_000_000_000, name)).Offset, int64(100))
}

func maxTime() {
	create(1)
	produce(values(), false)
	found := offset(admin().ListMaxTimestampOffsets(ctx, name))
	expect(found.Timestamp, read(found.Offset, 1)[0].Timestamp.UnixMilli())
}

func partitions() int {
	found, err := admin().ListTopics(ctx, name)
	check(err)
	return len(found[name].Partitions)
}

func remove() {
	create(1)
	_, err := admin().DeleteTopic(ctx, name)
	check(err)
	eventually("the topic is gone", func() bool {
		found, err := admin().ListTopics(ctx)
		check(err)
		return !found.Has(name)
	})
}

func describe() {
	create(3)
	found, err := admin().ListTopics(ctx, name)
	check(err)
	expect(len(found[name].Partitions), 3)
	expect(found[name].Partitions[0].Leader, found[name].Partitions[0].ISR[0])
}

func grow() {
	create(2)
	answers, err := admin().UpdatePartitions(ctx, 5, name)
	check(err)
	check(answers.Error())
	eventually("five partitions", func() bool { return partitions() == 5 })
}

func setting(key string) string {
	found, err := admin().DescribeTopicConfigs(ctx, name)
	check(err)
	resource, err := found.On(name, nil)
	check(err)
	check(resource.Err)
	for _, config := range resource.Configs {
		if config.Key == key {
			return config.MaybeValue()
		}
	}
	return "(none)"
}

func configs() {
	create(1, "retention.ms", "7200000")
	expect(setting("retention.ms"), "7200000")
	expect(setting("cleanup.policy"), "delete")
}

func brokerConfigs() {
	nodes, err := admin().ListBrokers(ctx)
	check(err)
	found, err := admin().DescribeBrokerConfigs(ctx, nodes.NodeIDs()...)
	check(err)
	known := false
	for _, config := range found[0].Configs {
		known = known || config.Key == "message.max.bytes"
	}
	expect(known, true)
}

func alter() {
	create(1)
	wanted := "7200000"
	set := []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "retention.ms", Value: &wanted}}
	answers, err := admin().AlterTopicConfigs(ctx, set, name)
	check(err)
	check(answers[0].Err)
	eventually("the new setting", func() bool { return setting("retention.ms") == wanted })
}

func replace() {
	create(1, "max.message.bytes", "2000")
	wanted := "7200000"
	set := []kadm.AlterConfig{{Name: "retention.ms", Value: &wanted}}
	answers, err := admin().AlterTopicConfigsState(ctx, set, name)
	check(err)
	check(answers[0].Err)
	eventually("the new setting", func() bool { return setting("retention.ms") == wanted })
	expect(setting("max.message.bytes"), "1048588")
}

func deleteRecords() {
	create(1)
	produce(values(), false)
	var below kadm.Offsets
	below.AddOffset(name, 0, 40, -1)
	answers, err := admin().DeleteRecords(ctx, below)
	check(err)
	check(answers.Error())
	expect(offset(admin().ListStartOffsets(ctx, name)).Offset, int64(40))
}

func logDirs() {
	create(1)
	produce(values(), false)
	found, err := admin().DescribeAllLogDirs(ctx, nil)
	check(err)
	size := int64(0)
	for _, folders := range found {
		folders.EachPartition(func(at kadm.DescribedLogDirPartition) {
			if at.Topic == name {
				size += at.Size
			}
		})
	}
	expect(size > 0, true)
}

func cluster() {
	found, err := admin().BrokerMetadata(ctx)
	check(err)
	expect(len(found.Brokers), 1)
	expect(found.Cluster != "", true)
}

func positions() {
	create(1)
	produce(values(), false)
	var wanted kadm.Offsets
	wanted.Add(kadm.Offset{Topic: name, Partition: 0, At: 7, LeaderEpoch: -1, Metadata: "here"})
	check(admin().CommitAllOffsets(ctx, name, wanted))
	found, err := admin().FetchOffsets(ctx, name)
	check(err)
	at, _ := found.Lookup(name, 0)
	expect(fmt.Sprint(at.At, at.Metadata), "7here")
}

func member(options ...kgo.Opt) *kgo.Client {
	all := []kgo.Opt{
		kgo.ConsumerGroup(name), kgo.ConsumeTopics(name), kgo.DisableAutoCommit(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
	}
	return client(append(all, options...)...)
}

func join(balancer kgo.GroupBalancer) {
	create(4)
	produce(values(), true)
	members := []*kgo.Client{}
	owned := []map[int32]bool{{}, {}}
	for number := range 2 {
		change := func(is bool) func(context.Context, *kgo.Client, map[string][]int32) {
			return func(_ context.Context, _ *kgo.Client, all map[string][]int32) {
				for _, partition := range all[name] {
					if is {
						owned[number][partition] = true
					} else {
						delete(owned[number], partition)
					}
				}
			}
		}
		// The call-backs come between two polls only, so nothing guards the maps.
		one := member(kgo.Balancers(balancer), kgo.BlockRebalanceOnPoll(),
			kgo.OnPartitionsAssigned(change(true)), kgo.OnPartitionsRevoked(change(false)), kgo.OnPartitionsLost(change(false)))
		defer one.CloseAllowingRebalance()
		members = append(members, one)
	}
	seen := map[string]bool{}
	eventually("both members own partitions, and every record came", func() bool {
		for _, one := range members {
			for _, record := range poll(one, 100) {
				seen[string(record.Value)] = true
			}
		}
		first, second := len(owned[0]), len(owned[1])
		settled := first > 0 && second > 0 && first+second == 4 && len(seen) == 100
		for _, one := range members {
			one.AllowRebalance()
		}
		return settled
	})
}

// follow is a member until it is told to stop; see Member in tests/interop/clients/harness.py.
func follow() {
	said := strings.Split(name, ",")
	var balancer kgo.GroupBalancer = kgo.RangeBalancer()
	if said[1] != "range" {
		balancer = kgo.CooperativeStickyBalancer()
	}
	generation, owned := int32(-1), map[int32]bool{}
	change := func(is bool) func(context.Context, *kgo.Client, map[string][]int32) {
		return func(_ context.Context, one *kgo.Client, all map[string][]int32) {
			if is {
				_, generation = one.GroupMetadata()
			}
			for _, partition := range all[said[0]] {
				if is {
					owned[partition] = true
				} else {
					delete(owned, partition)
				}
			}
			line := fmt.Sprint("owns ", generation)
			for partition := range owned {
				line += fmt.Sprint(" ", partition)
			}
			fmt.Println(line)
		}
	}
	options := []kgo.Opt{
		kgo.ConsumerGroup(said[0] + "-group"), kgo.ConsumeTopics(said[0]), kgo.DisableAutoCommit(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.Balancers(balancer), kgo.BlockRebalanceOnPoll(),
		kgo.SessionTimeout(6 * time.Second), kgo.HeartbeatInterval(500 * time.Millisecond),
		kgo.OnPartitionsAssigned(change(true)), kgo.OnPartitionsRevoked(change(false)), kgo.OnPartitionsLost(change(false)),
	}
	if said[2] != "" {
		options = append(options, kgo.InstanceID(said[2]))
	}
	forever, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	one := client(options...)
	defer one.CloseAllowingRebalance()
	for forever.Err() == nil {
		short, end := context.WithTimeout(forever, 200*time.Millisecond)
		found := one.PollRecords(short, 10).Records()
		end()
		for _, record := range found {
			fmt.Println("record", generation, record.Partition, record.Offset)
		}
		if len(found) > 0 {
			_ = one.CommitRecords(context.Background(), found...)
		}
		one.AllowRebalance()
	}
}

func static() {
	create(2)
	produce(values(), true)
	for range 2 {
		one := member(kgo.InstanceID("one"), kgo.SessionTimeout(30*time.Second))
		poll(one, 1)
		eventually("an assignment", func() bool { poll(one, 1); _, generation := one.GroupMetadata(); return generation > 0 })
		_, generation := one.GroupMetadata()
		expect(generation, int32(1))
		one.Close()
	}
}

func resume() {
	create(1)
	produce(values(), false)
	one := member()
	check(one.CommitRecords(ctx, take(one, 30)...))
	one.Close()
	two := member()
	defer two.Close()
	expect(string(take(two, 1)[0].Value), values()[30])
}

func joined() *kgo.Client {
	create(1)
	produce(values(), false)
	one := member()
	check(one.CommitRecords(ctx, take(one, 10)...))
	return one
}

func groupList() {
	defer joined().Close()
	found, err := admin().ListGroups(ctx)
	check(err)
	expect(found[name].State, "Stable")
}

func groupDescribe() {
	defer joined().Close()
	found, err := admin().DescribeGroups(ctx, name)
	check(err)
	expect(found[name].State, "Stable")
	expect(found.AssignedPartitions().Lookup(name, 0), true)
}

func groupOffsets() {
	defer joined().Close()
	found, err := admin().FetchOffsets(ctx, name)
	check(err)
	at, _ := found.Lookup(name, 0)
	expect(at.At, int64(10))
}

func groupReset() {
	joined().Close()
	var wanted kadm.Offsets
	wanted.AddOffset(name, 0, 3, -1)
	check(admin().CommitAllOffsets(ctx, name, wanted))
	one := member()
	defer one.Close()
	expect(string(take(one, 1)[0].Value), values()[3])
}

func groupDeleteOffsets() {
	joined().Close()
	var gone kadm.TopicsSet
	gone.Add(name, 0)
	answers, err := admin().DeleteOffsets(ctx, name, gone)
	check(err)
	check(answers.Error())
	found, err := admin().FetchOffsets(ctx, name)
	check(err)
	_, is := found.Lookup(name, 0)
	expect(is, false)
}

func groupDelete() {
	one := joined()
	answer, err := admin().DeleteGroup(ctx, name)
	expect(errors.Is(err, kerr.NonEmptyGroup) || errors.Is(answer.Err, kerr.NonEmptyGroup), true)
	one.Close()
	answer, err = admin().DeleteGroup(ctx, name)
	check(err)
	check(answer.Err)
	found, err := admin().ListGroups(ctx)
	check(err)
	expect(slices.Contains(found.Groups(), name), false)
}

func eventually(what string, holds func() bool) {
	for end := time.Now().Add(patience); !holds(); {
		if time.Now().After(end) {
			panic(fmt.Sprintf("not within %s: %s", patience, what))
		}
	}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func expect(found, wanted any) {
	if found != wanted {
		panic(fmt.Sprintf("found %.200v, expected %.200v", found, wanted))
	}
}
