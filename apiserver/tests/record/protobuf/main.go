// Writes how the built-in kinds are read from Protobuf: what the tags of their Go types say. First a line for each
// kind, `apiVersion kind=type`, then one for each type with its fields, `number=property:type`; a field without a
// property is part of what holds it. Types: s text, i integer, b bool, d double, y bytes, #Name another type, [x] a list, {x} a
// map; T a time, D a duration, Q a quantity, I an integer or text, R raw JSON, X a list in a message of its own,
// ~x one that JSON leaves out if it is empty, zero or false, ?bName a type or a boolean, ?aName a type or a list of it,
// ?sName a type or a list of texts.
// Usage: go run . > ../../../src/protobuf/types.txt
package main

import (
	"fmt"
	"reflect"
	"sort"
	"strings"

	apiext "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	apireg "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

var special = map[string]string{
	"v1.Time": "T", "v1.MicroTime": "T", "v1.Duration": "D", "resource.Quantity": "Q",
	"intstr.IntOrString": "I", "runtime.RawExtension": "R", "v1.FieldsV1": "R", "v1.JSON": "R",
}

// One of two, by the type that both have: see the comment at the top.
var unions = map[string]string{
	"v1.JSONSchemaPropsOrBool": "?b", "v1.JSONSchemaPropsOrArray": "?a", "v1.JSONSchemaPropsOrStringArray": "?s",
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
	if known := unions[t.String()]; known != "" {
		field, _ := t.FieldByName("Schema")
		return known + shown(field.Type)[1:]
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
		property, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		of := shown(f.Type)
		if strings.Contains("sibd", of) && f.Type.Kind() != reflect.Pointer && strings.Contains(options, "omitempty") {
			of = "~" + of
		}
		line += fmt.Sprintf(" %s=%s:%s", strings.Split(tag, ",")[1], property, of)
	}
	lines[line] = true
}

func main() {
	for _, add := range []func(*runtime.Scheme) error{apireg.AddToScheme, apiext.AddToScheme} {
		if err := add(scheme.Scheme); err != nil {
			panic(err)
		}
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
