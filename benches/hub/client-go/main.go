// Writes policies as a controller does that is written with client-go: each line of the input is a policy, which is created, or updated
// with the resource version of the last response, as from a cache. For each line, one is printed: an error, or nothing.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
)

var policies = schema.GroupVersionResource{
	Group: "policy.open-cluster-management.io", Version: "v1", Resource: "policies",
}

// Policies are longer than a scanner's default limit of a line.
const longestLine = 16 << 20

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return err
	}
	// One write follows the other: no limit of its own.
	config.QPS = -1
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	stored := map[string]*unstructured.Unstructured{}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, longestLine)
	for lines.Scan() {
		policy := &unstructured.Unstructured{}
		if err := json.Unmarshal(lines.Bytes(), &policy.Object); err != nil {
			return err
		}
		written, err := write(client, stored[policy.GetName()], policy)
		if err != nil {
			fmt.Println(err)
			continue
		}
		stored[policy.GetName()] = written
		fmt.Println()
	}
	return lines.Err()
}

func write(client dynamic.Interface, stored, policy *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	ctx, api := context.Background(), client.Resource(policies).Namespace(policy.GetNamespace())
	if stored == nil {
		return api.Create(ctx, policy, metav1.CreateOptions{})
	}
	stored.SetLabels(policy.GetLabels())
	stored.SetAnnotations(policy.GetAnnotations())
	stored.Object["spec"] = policy.Object["spec"]
	return api.Update(ctx, stored, metav1.UpdateOptions{})
}
