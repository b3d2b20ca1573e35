package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"strings"
	"text/template"

	"k8s.io/apimachinery/pkg/labels"
)

const claimVersion = "cluster.open-cluster-management.io/v1alpha1"

type worldObject struct {
	apiVersion, kind, namespace, name string
	labels                            map[string]string
	rest                              map[string]any
}

// world is what `tests/engine/world.rs` has, already without what only appliers read.
var world = []worldObject{
	{"v1", "Secret", "testns", "testsecret", nil, map[string]any{"data": map[string]any{
		"secretkey1": "c2VjcmV0a2V5MVZhbA==", "secretkey2": "c2VjcmV0a2V5MlZhbA=="}}},
	{"v1", "Secret", "testns", "emptysecret", nil, nil},
	{"v1", "ConfigMap", "testns", "testconfigmap", map[string]string{"app": "test"}, map[string]any{"data": map[string]any{
		"cmkey1": "cmkey1Val", "cmkey2": "cmkey2Val", "ingressSources": "[10.10.10.10, 1.1.1.1]", "n": "6"}}},
	{"v1", "ConfigMap", "testns", "testcm-envb", map[string]string{"env": "b"}, map[string]any{"data": map[string]any{}}},
	{"v1", "ConfigMap", "testns", "testcm-enva", map[string]string{"env": "a", "app": "test"},
		map[string]any{"data": map[string]any{"k": "<&>"}}},
	{"v1", "ConfigMap", "zeta", "shared", nil, map[string]any{"data": map[string]any{"from": "zeta"}}},
	{"v1", "ConfigMap", "alpha", "shared", nil, map[string]any{"data": map[string]any{"from": "alpha"}}},
	{"v1", "Namespace", "", "testns", map[string]string{"a": "b"}, nil},
	{claimVersion, "ClusterClaim", "", "env", nil, map[string]any{"spec": map[string]any{"value": "dev"}}},
	{claimVersion, "ClusterClaim", "", "nospec", nil, nil},
	{claimVersion, "ClusterClaim", "", "novalue", nil, map[string]any{"spec": map[string]any{}}},
	{"cluster.open-cluster-management.io/v1", "ManagedCluster", "", "cluster1", map[string]string{"region": "x"}, nil},
	{"v1", "Node", "", "node-infra1", map[string]string{"node-role.kubernetes.io/infra": ""}, nil},
	{"v1", "Node", "", "node-infra2", map[string]string{"node-role.kubernetes.io/infra": "", "node-role.kubernetes.io/worker": ""}, nil},
	{"v1", "Node", "", "node-both", map[string]string{"node-role.kubernetes.io/infra": "", "node-role.kubernetes.io/storage": ""}, nil},
	{"v1", "Node", "", "node-worker", map[string]string{"node-role.kubernetes.io/worker": ""}, nil},
}

func (o worldObject) value() map[string]any {
	metadata := map[string]any{"name": o.name, "annotations": map[string]any{"kept": "yes"}}
	if o.namespace != "" {
		metadata["namespace"] = o.namespace
	}
	if o.labels != nil {
		texts := map[string]any{}
		for key, value := range o.labels {
			texts[key] = value
		}
		metadata["labels"] = texts
	}
	object := map[string]any{"apiVersion": o.apiVersion, "kind": o.kind, "metadata": metadata}
	for key, value := range o.rest {
		object[key] = value
	}
	return object
}

type notFoundError struct{ text string }

func (e notFoundError) Error() string { return e.text }

func worldPlural(apiVersion, kind string) (plural string, namespaced, ok bool) {
	core := map[string]string{"Secret": "secrets", "ConfigMap": "configmaps", "Namespace": "namespaces", "Node": "nodes", "ComponentStatus": "componentstatuses"}
	if plural, ok := core[kind]; ok && apiVersion == "v1" {
		return plural, kind == "Secret" || kind == "ConfigMap", true
	}
	switch kind {
	case "ClusterClaim":
		return "clusterclaims", false, true
	case "ManagedCluster":
		return "managedclusters", false, true
	}
	return "", false, false
}

// getOrList is the contract's lookup without restrictions.
func getOrList(apiVersion, kind, namespace, name string, selectors ...string) (map[string]any, error) {
	if apiVersion == "" || kind == "" {
		return nil, errors.New("the apiVersion and kind are required")
	}
	if strings.Count(apiVersion, "/") > 1 {
		return nil, fmt.Errorf("unexpected GroupVersion string: %s", apiVersion)
	}
	selector := labels.Everything()
	if len(selectors) > 0 && selectors[0] != "" {
		parsed, err := labels.Parse(strings.Join(selectors, ","))
		if err != nil {
			return nil, err
		}
		selector = parsed
	}
	plural, namespaced, ok := worldPlural(apiVersion, kind)
	if !ok {
		return nil, errors.New("one or more API resources are not installed on the API server")
	}
	if !namespaced {
		namespace = ""
	}
	var chosen []worldObject
	for _, object := range world {
		if object.apiVersion != apiVersion || object.kind != kind {
			continue
		}
		if name != "" {
			if (namespace == "" || object.namespace == namespace) && object.name == name {
				chosen = append(chosen, object)
			}
			continue
		}
		if (namespace == "" || object.namespace == namespace) && selector.Matches(labels.Set(object.labels)) {
			chosen = append(chosen, object)
		}
	}
	sort.Slice(chosen, func(i, j int) bool {
		return chosen[i].namespace+"/"+chosen[i].name < chosen[j].namespace+"/"+chosen[j].name
	})
	if name != "" {
		if len(chosen) > 0 {
			return chosen[0].value(), nil
		}
		if group, _, found := strings.Cut(apiVersion, "/"); found {
			plural += "." + group
		}
		return nil, notFoundError{fmt.Sprintf("%s %q not found", plural, name)}
	}
	items := []any{}
	for _, object := range chosen {
		items = append(items, object.value())
	}
	return map[string]any{"items": items}, nil
}

func dataEntry(object map[string]any, key string) string {
	data, _ := object["data"].(map[string]any)
	text, _ := data[key].(string)
	return text
}

func dataText(object map[string]any) (string, error) {
	text, err := json.Marshal(object["data"])
	return string(text), err
}

func claimValue(name string) (string, error) {
	if name == "" {
		return "", errors.New("a claim name must be provided")
	}
	claim, err := getOrList(claimVersion, "ClusterClaim", "", name)
	if err != nil {
		return "", err
	}
	spec, ok := claim["spec"].(map[string]any)
	if !ok {
		return "", fmt.Errorf("unexpected ClusterClaim format: %s", name)
	}
	value, _ := spec["value"].(string)
	return value, nil
}

func exactNodes(roles ...string) (map[string]any, error) {
	const prefix = "node-role.kubernetes.io"
	wanted := map[string]bool{prefix + "/worker": true}
	var selectors []string
	for _, role := range roles {
		if strings.TrimSpace(role) != "" {
			selectors = append(selectors, prefix+"/"+role)
			wanted[prefix+"/"+role] = true
		}
	}
	if len(selectors) == 0 {
		return nil, errors.New("the input is invalid: at least one name must be specified")
	}
	found, err := getOrList("v1", "Node", "", "", selectors...)
	if err != nil {
		return nil, err
	}
	items := []any{}
	for _, node := range found["items"].([]any) {
		exact := true
		for label := range node.(map[string]any)["metadata"].(map[string]any)["labels"].(map[string]any) {
			exact = exact && (wanted[label] || !strings.HasPrefix(label, prefix))
		}
		if exact {
			items = append(items, node)
		}
	}
	return map[string]any{"items": items}, nil
}

func worldFunctions() template.FuncMap {
	reader := func(kind, failed string) func(namespace, name string) (map[string]any, error) {
		return func(namespace, name string) (map[string]any, error) {
			object, err := getOrList("v1", kind, namespace, name)
			if err != nil {
				return nil, fmt.Errorf(failed+": %w", name, namespace, err)
			}
			return object, nil
		}
	}
	from := func(read func(namespace, name string) (map[string]any, error)) any {
		return func(namespace, name, key string) (string, error) {
			if namespace == "" || name == "" || key == "" {
				return "", errors.New("the input is invalid: namespace, name, and key must be specified")
			}
			object, err := read(namespace, name)
			return dataEntry(object, key), err
		}
	}
	copied := func(read func(namespace, name string) (map[string]any, error)) any {
		return func(namespace, name string) (string, error) {
			if namespace == "" || name == "" {
				return "", errors.New("the input is invalid: namespace and name must be specified")
			}
			object, err := read(namespace, name)
			if err != nil {
				return "", err
			}
			return dataText(object)
		}
	}
	secret := reader("Secret", "failed to get the secret %s from %s")
	configMap := reader("ConfigMap", "failed getting the ConfigMap %s from %s")
	return template.FuncMap{
		"fromSecret":        from(secret),
		"fromConfigMap":     from(configMap),
		"copySecretData":    copied(secret),
		"copyConfigMapData": copied(configMap),
		"lookup": func(apiVersion, kind, namespace, name string, selectors ...string) (map[string]any, error) {
			found, err := getOrList(apiVersion, kind, namespace, name, selectors...)
			if missing := (notFoundError{}); errors.As(err, &missing) {
				return nil, nil
			}
			return found, err
		},
		"fromClusterClaim": claimValue,
		"lookupClusterClaim": func(name string) (string, error) {
			value, err := claimValue(name)
			if missing := (notFoundError{}); errors.As(err, &missing) {
				return "", nil
			}
			return value, err
		},
		"getNodesWithExactRoles": exactNodes,
		"hasNodesWithExactRoles": func(roles ...string) (bool, error) {
			nodes, err := exactNodes(roles...)
			if err != nil {
				return false, err
			}
			return len(nodes["items"].([]any)) > 0, nil
		},
	}
}
