// franz-go's client; ../README.md says what it prints.
package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

const onTheWay = 50
const pause = 10 * time.Millisecond

var output sync.Mutex

func say(format string, values ...any) {
	output.Lock()
	defer output.Unlock()
	fmt.Printf(format+"\n", values...)
}

func main() {
	servers, name, writes, reads := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	partitions, _ := strconv.Atoi(os.Args[5])
	var isSending atomic.Bool
	isSending.Store(true)
	sent := make(chan struct{})
	go func() {
		send(servers, name, writes, partitions, &isSending)
		close(sent)
	}()
	reading, leave := context.WithCancel(context.Background())
	left := make(chan struct{})
	go func() {
		read(reading, servers, name, reads)
		close(left)
	}()
	for commands := bufio.NewScanner(os.Stdin); commands.Scan(); {
		isSending.Store(false)
		<-sent
	}
	leave()
	<-left
}

func send(servers, name, topic string, partitions int, isSending *atomic.Bool) {
	client, err := kgo.NewClient(
		kgo.SeedBrokers(strings.Split(servers, ",")...),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.MaxBufferedRecords(onTheWay),
	)
	if err != nil {
		say("E %v", err)
		return
	}
	defer client.Close()
	for number := 0; isSending.Load(); number++ {
		value := fmt.Sprintf("%s-%d", name, number)
		record := &kgo.Record{Topic: topic, Partition: int32(number % partitions), Value: []byte(value)}
		say("S %d %s", record.Partition, value)
		client.Produce(context.Background(), record, func(record *kgo.Record, err error) {
			if err != nil {
				say("E %v", err)
				return
			}
			say("A %d %d %s", record.Partition, record.Offset, record.Value)
		})
		time.Sleep(pause)
	}
	if err := client.Flush(context.Background()); err != nil {
		say("E %v", err)
	}
	say("DONE")
}

func read(reading context.Context, servers, group, topic string) {
	client, err := kgo.NewClient(
		kgo.SeedBrokers(strings.Split(servers, ",")...),
		kgo.ConsumerGroup(group),
		kgo.ConsumeTopics(topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.OnPartitionsAssigned(func(context.Context, *kgo.Client, map[string][]int32) { say("M") }),
	)
	if err != nil {
		say("E %v", err)
		return
	}
	defer client.Close()
	for reading.Err() == nil {
		fetches := client.PollFetches(reading)
		fetches.EachError(func(topic string, partition int32, err error) {
			if reading.Err() == nil {
				say("E %s-%d: %v", topic, partition, err)
			}
		})
		fetches.EachRecord(func(record *kgo.Record) {
			say("R %d %d %s", record.Partition, record.Offset, record.Value)
		})
	}
}
