// Writes what the OpenAPI documents of a kube-apiserver do not tell of the Go types of its objects: which
// scalars are pointers (an explicit zero is kept), which fields are written though empty, how named scalars are called.
// One line a type with anything to tell: its schema's name, then `property=flags:type` each; flags: p pointer,
// a always written, z left out when it is zero although it is a struct.
package main

import (
	"fmt"
	"reflect"
	"sort"
	"strings"

	apiext "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/kubernetes/scheme"
	apireg "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

func name(t reflect.Type) string {
	path := strings.SplitN(t.PkgPath(), "/", 2)
	host := strings.Split(path[0], ".")
	for i, j := 0, len(host)-1; i < j; i, j = i+1, j-1 {
		host[i], host[j] = host[j], host[i]
	}
	rest := ""
	if len(path) > 1 {
		rest = "." + strings.ReplaceAll(path[1], "/", ".")
	}
	return strings.Join(host, ".") + rest + "." + t.Name()
}

var seen = map[reflect.Type]bool{}
var lines = []string{}

func fields(t reflect.Type, out *[]string) {
	for i := 0; i < t.NumField(); i++ {
		f := t.Field(i)
		tag, ok := f.Tag.Lookup("json")
		parts := strings.Split(tag, ",")
		options := strings.Join(parts[1:], ",")
		if !ok || parts[0] == "-" {
			continue
		}
		ft, flags := f.Type, ""
		if ft.Kind() == reflect.Pointer {
			ft, flags = ft.Elem(), "p"
		}
		if parts[0] == "" {
			if ft.Kind() == reflect.Struct {
				fields(ft, out)
			}
			continue
		}
		visit(ft)
		shown := ""
		switch ft.Kind() {
		case reflect.Slice, reflect.Map:
			elem := ft.Elem()
			if ft.Name() != "" || (elem.Kind() == reflect.String && elem.Name() != "string") {
				shown = strings.ReplaceAll(ft.String(), " ", "")
			}
		case reflect.Struct, reflect.Interface:
		default:
			if ft.Name() != ft.Kind().String() {
				shown = ft.String()
			}
		}
		always := !strings.Contains(options, "omitempty") && !strings.Contains(options, "omitzero")
		if ft.Kind() == reflect.Struct {
			// Structures are never empty to Go; these are written as scalars.
			switch ft.Name() {
			case "Time", "MicroTime", "Quantity", "IntOrString":
				always = always || (flags == "" && !strings.Contains(options, "omitzero"))
			}
			flags = ""
		}
		if always {
			flags += "a"
		}
		if strings.Contains(options, "omitzero") {
			flags += "z"
		}
		if flags != "" || shown != "" {
			entry := parts[0] + "=" + flags
			if shown != "" {
				entry += ":" + shown
			}
			*out = append(*out, entry)
		}
	}
}

func visit(t reflect.Type) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || seen[t] {
		return
	}
	seen[t] = true
	out := []string{}
	fields(t, &out)
	if len(out) > 0 {
		sort.Strings(out)
		lines = append(lines, name(t)+" "+strings.Join(out, " "))
	}
}

func main() {
	_ = apiext.AddToScheme(scheme.Scheme)
	_ = apireg.AddToScheme(scheme.Scheme)
	for gvk, t := range scheme.Scheme.AllKnownTypes() {
		if gvk.Version != "__internal" {
			visit(t)
		}
	}
	sort.Strings(lines)
	fmt.Println(strings.Join(lines, "\n"))
}
