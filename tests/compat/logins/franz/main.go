// franz-go's client; ../README.md says what it is asked and what it prints.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

type login struct {
	Servers, Topic, Value            string
	Authority, Certificate           string
	Mechanism, User, Password, Token string
	IsDelegated                      bool
	TimeoutS                         int
}

func main() {
	var asked login
	if err := json.NewDecoder(os.Stdin).Decode(&asked); err != nil {
		panic(err)
	}
	limit := time.Duration(asked.TimeoutS) * time.Second
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if err := asked.writeAndRead(ctx); err != nil {
		fmt.Printf("refused %v\n", err)
	}
}

func (asked *login) writeAndRead(ctx context.Context) error {
	options, err := asked.options()
	if err != nil {
		return err
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		return err
	}
	defer client.Close()
	if err := client.Ping(ctx); err != nil {
		return err
	}
	record := &kgo.Record{Topic: asked.Topic, Value: []byte(asked.Value)}
	if err := client.ProduceSync(ctx, record).FirstErr(); err != nil {
		return err
	}
	fmt.Println("written")
	for {
		fetches := client.PollFetches(ctx)
		for _, failed := range fetches.Errors() {
			return failed.Err
		}
		for _, found := range fetches.Records() {
			if string(found.Value) == asked.Value {
				fmt.Println("read")
				return nil
			}
		}
	}
}

func (asked *login) options() ([]kgo.Opt, error) {
	first := map[string]map[int32]kgo.Offset{asked.Topic: {0: kgo.NewOffset().AtStart()}}
	options := []kgo.Opt{
		kgo.SeedBrokers(asked.Servers),
		kgo.ConsumePartitions(first),
		kgo.RequestRetries(0),
	}
	if asked.Authority != "" {
		config, err := asked.tls()
		if err != nil {
			return nil, err
		}
		options = append(options, kgo.DialTLSConfig(config))
	}
	if asked.Mechanism != "" {
		options = append(options, kgo.SASL(asked.mechanism()))
	}
	return options, nil
}

func (asked *login) tls() (*tls.Config, error) {
	authority, err := os.ReadFile(asked.Authority)
	if err != nil {
		return nil, err
	}
	trusted := x509.NewCertPool()
	if !trusted.AppendCertsFromPEM(authority) {
		return nil, errors.New("the authority has no certificate")
	}
	config := &tls.Config{RootCAs: trusted}
	if asked.Certificate != "" {
		pair, err := tls.LoadX509KeyPair(asked.Certificate, asked.Certificate)
		if err != nil {
			return nil, err
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

func (asked *login) mechanism() sasl.Mechanism {
	known := scram.Auth{User: asked.User, Pass: asked.Password, IsToken: asked.IsDelegated}
	switch asked.Mechanism {
	case "PLAIN":
		return plain.Auth{User: asked.User, Pass: asked.Password}.AsMechanism()
	case "SCRAM-SHA-256":
		return known.AsSha256Mechanism()
	case "SCRAM-SHA-512":
		return known.AsSha512Mechanism()
	default:
		return oauth.Auth{Token: asked.Token}.AsMechanism()
	}
}
