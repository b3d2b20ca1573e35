// What a program that is written with client-go sees of an API server. It goes through one tour and prints a line for
// everything that it sees, with words in the places of what differs from server to server and from second to second.
// The same tour through two servers has to print the same lines.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const deadline = 60 * time.Second

// traveller is what a tour goes with.
type traveller struct {
	context   context.Context
	config    *rest.Config
	typed     kubernetes.Interface
	dynamic   dynamic.Interface
	metadata  metadata.Interface
	discovery discovery.DiscoveryInterface
	namespace string
	requests  *requests
}

var tours = map[string]func(*traveller) error{
	"informers":            informers,
	"lists":                lists,
	"watches":              watches,
	"writes":               writes,
	"apply":                apply,
	"deletes":              deletes,
	"refusals":             refusals,
	"election":             election,
	"events":               events,
	"discovery":            discover,
	"custom":               custom,
	"tokens":               tokens,
	"protobuf":             protobuf,
	"protobuf-definitions": protobufDefinitions,
}

func main() {
	if len(os.Args) != 2 || tours[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: KUBECONFIG=<file> [NAMESPACE=<namespace>] client-go <tour>")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(tour string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*deadline)
	defer cancel()
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return err
	}
	// Nobody is to wait for its own limits here.
	config.QPS = -1
	config.UserAgent = "tour/1.0"
	seen := &requests{}
	config.Wrap(func(inner http.RoundTripper) http.RoundTripper {
		return &recorder{inner: inner, requests: seen}
	})
	namespace := os.Getenv("NAMESPACE")
	if namespace == "" {
		namespace = "go-" + tour
	}
	traveller, err := equip(ctx, config, namespace)
	if err != nil {
		return err
	}
	traveller.requests = seen
	if err := traveller.begin(); err != nil {
		return err
	}
	return tours[tour](traveller)
}

func equip(ctx context.Context, config *rest.Config, namespace string) (*traveller, error) {
	typed, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	untyped, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	partial, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return &traveller{
		context:   ctx,
		config:    config,
		typed:     typed,
		dynamic:   untyped,
		metadata:  partial,
		discovery: typed.Discovery(),
		namespace: namespace,
	}, nil
}

// begin makes the namespace, and waits for its account: it appears when it likes.
func (t *traveller) begin() error {
	named := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: t.namespace}}
	if _, err := t.typed.CoreV1().Namespaces().Create(t.context, named, metav1.CreateOptions{}); err != nil {
		return err
	}
	return t.until("the default account", func() (bool, error) {
		_, err := t.typed.CoreV1().ServiceAccounts(t.namespace).Get(t.context, "default", metav1.GetOptions{})
		return err == nil, nil
	})
}

// until waits until something is so.
func (t *traveller) until(what string, so func() (bool, error)) error {
	err := wait.PollUntilContextTimeout(t.context, 20*time.Millisecond, deadline, true, func(context.Context) (bool, error) {
		return so()
	})
	if err != nil {
		return fmt.Errorf("waiting for %s: %w", what, err)
	}
	return nil
}
