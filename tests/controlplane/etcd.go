package main

import (
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"syscall"

	"go.etcd.io/etcd/server/v3/embed"
)

// runEtcd serves one single-member etcd. Its flags carry the names and shapes of
// the real etcd's, so that the testkit starts either with the same arguments.
func runEtcd() int {
	if err := serveEtcd(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "etcd:", err)
		return 1
	}
	return 0
}

func serveEtcd(args []string) error {
	config, err := etcdConfig(args)
	if err != nil {
		return err
	}
	// Before the server starts, so that no signal is missed.
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)

	server, err := embed.StartEtcd(config)
	if err != nil {
		return err
	}
	defer server.Close()
	select {
	case err := <-server.Err():
		return err
	case <-stop:
		return nil
	}
}

func etcdConfig(args []string) (*embed.Config, error) {
	flags := flag.NewFlagSet("etcd", flag.ContinueOnError)
	dataDir := flags.String("data-dir", "", "directory of the database")
	clientURL := flags.String("listen-client-urls", "", "URL to serve clients on")
	peerURL := flags.String("listen-peer-urls", "", "URL to serve peers on")
	// As with the real etcd, the advertised URLs default to localhost:2379 and
	// have to be given; a single member needs them to equal the served ones.
	flags.String("advertise-client-urls", "", "accepted for compatibility; the served URL is advertised")
	flags.String("initial-advertise-peer-urls", "", "accepted for compatibility; the served URL is advertised")
	flags.String("initial-cluster", "", "accepted for compatibility; the cluster is this member")
	unsafeNoFsync := flags.Bool("unsafe-no-fsync", false, "do not flush to disk: fast, and lost on a power cut")
	logLevel := flags.String("log-level", "info", "debug, info, warn, error, panic or fatal")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}

	client, err := localURL("listen-client-urls", *clientURL)
	if err != nil {
		return nil, err
	}
	peer, err := localURL("listen-peer-urls", *peerURL)
	if err != nil {
		return nil, err
	}
	config := embed.NewConfig()
	config.Dir = *dataDir
	config.ListenClientUrls, config.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	config.ListenPeerUrls, config.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	config.UnsafeNoFsync = *unsafeNoFsync
	config.LogLevel = *logLevel
	return config, nil
}

func localURL(flagName, value string) (url.URL, error) {
	parsed, err := url.Parse(value)
	if err != nil {
		return url.URL{}, fmt.Errorf("--%s: %w", flagName, err)
	}
	if parsed.Host == "" {
		return url.URL{}, fmt.Errorf("--%s must be a URL such as http://127.0.0.1:2379, not %q", flagName, value)
	}
	return *parsed, nil
}
