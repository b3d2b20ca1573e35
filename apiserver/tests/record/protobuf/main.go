// Writes how the built-in kinds are read from Protobuf: what the tags of their Go types say. First a line for each
// kind, `apiVersion kind=type`, then one for each type with its fields, `number=property:type`; a field without a
// property is part of what holds it. Types: s text, i integer, b bool, d double, y bytes, #Name another type, [x] a list, {x} a
// map; T a time, D a duration, Q a quantity, I an integer or text, R raw JSON, X a list in a message of its own.
// Usage: go run . > ../../../src/protobuf/types.txt
package main

import (
	"fmt"
	"reflect"
	"sort"
	"strings"

	"k8s.io/client-go/kubernetes/scheme"
	apireg "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

var special = map[string]string{
	"v1.Time": "T", "v1.MicroTime": "T", "v1.Duration": "D", "resource.Quantity": "Q",
	"intstr.IntOrString": "I", "runtime.RawExtension": "R", "v1.FieldsV1": "R",
}

var lines = map[string]bool{}
var seen = map[reflect.Type]bool{}

func name(t reflect.Type) string {
	path := strings.Split(t.PkgPath(), "/")
	return strings.Join(path[max(0, len(path)-2):], ".") + "." + t.Name()
}

func shown(t reflect.Type) string {
	if known := special[t.String()]; known != "" {
		return known
	}
	switch t.Kind() {
	case reflect.Pointer:
		return shown(t.Elem())
	case reflect.String:
		return "s"
	case reflect.Bool:
		return "b"
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint32, reflect.Uint64:
		return "i"
	case reflect.Float64:
		return "d"
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "y"
		}
		return "[" + shown(t.Elem()) + "]"
	case reflect.Map:
		elem := t.Elem()
		if elem.Kind() == reflect.Slice && elem.Name() != "" {
			return "{X}"
		}
		return "{" + shown(elem) + "}"
	case reflect.Struct:
		visit(t)
		return "#" + name(t)
	}
	panic(t.String())
}

func visit(t reflect.Type) {
	if seen[t] {
		return
	}
	seen[t] = true
	line := name(t)
	for i := 0; i < t.NumField(); i++ {
		f := t.Field(i)
		tag, ok := f.Tag.Lookup("protobuf")
		if !ok || tag == "-" {
			continue
		}
		property := strings.Split(f.Tag.Get("json"), ",")[0]
		line += fmt.Sprintf(" %s=%s:%s", strings.Split(tag, ",")[1], property, shown(f.Type))
	}
	lines[line] = true
}

func main() {
	if err := apireg.AddToScheme(scheme.Scheme); err != nil {
		panic(err)
	}
	kinds := []string{}
	for gvk, t := range scheme.Scheme.AllKnownTypes() {
		if gvk.Version == "__internal" || (strings.HasSuffix(gvk.Kind, "Options") && gvk.Kind != "DeleteOptions") ||
			strings.HasSuffix(gvk.Kind, "List") || gvk.Kind == "WatchEvent" || strings.Contains(gvk.Version, "alpha") ||
			strings.Contains(gvk.Version, "beta") || strings.HasPrefix(gvk.Kind, "API") && gvk.Kind != "APIService" {
			continue
		}
		visit(t)
		kinds = append(kinds, fmt.Sprintf("%s %s=%s", gvk.GroupVersion(), gvk.Kind, name(t)))
	}
	sort.Strings(kinds)
	fmt.Println(strings.Join(kinds, "\n"))
	all := []string{}
	for line := range lines {
		all = append(all, line)
	}
	sort.Strings(all)
	fmt.Println(strings.Join(all, "\n"))
}
