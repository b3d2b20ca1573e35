// The oracle of the fields of OLM's specs: `go run . table` prints what Go's types look like as the Rust table of the
// strict decoder, `go run . cases < inputs.json` what Go's strict decoder makes of each input.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// targets are the types that specs are decoded to.
func targets() map[string]any {
	return map[string]any{
		"subscription":  &v1alpha1.SubscriptionSpec{},
		"operatorGroup": &operatorsv1.OperatorGroupSpec{},
	}
}

// table prints one Rust static for each struct, those that others need first.
type table struct {
	names map[reflect.Type]string
	out   bytes.Buffer
}

var words = regexp.MustCompile(`([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])`)

func static(t reflect.Type) string {
	return strings.ToUpper(words.ReplaceAllString(t.Name(), "${1}${3}_${2}${4}"))
}

func (t *table) kind(of reflect.Type) string {
	switch of {
	case reflect.TypeFor[resource.Quantity]():
		return "Type::Quantity"
	case reflect.TypeFor[metav1.Time]():
		return "Type::Time"
	case reflect.TypeFor[intstr.IntOrString]():
		return "Type::IntOrString"
	case reflect.TypeFor[metav1.FieldsV1]():
		return "Type::Any"
	}
	switch of.Kind() {
	case reflect.Pointer:
		return t.kind(of.Elem())
	case reflect.String:
		if of.Name() == "string" {
			return "TEXT"
		}
		return fmt.Sprintf("Type::Text(%q)", of.String())
	case reflect.Bool:
		return "Type::Bool"
	case reflect.Int32, reflect.Int64:
		return fmt.Sprintf("Type::Int(%q)", of.String())
	case reflect.Slice:
		return "Type::List(&" + t.kind(of.Elem()) + ")"
	case reflect.Map:
		return fmt.Sprintf("Type::Map(%q, &%s)", of.String(), t.kind(of.Elem()))
	case reflect.Struct:
		return "Type::Struct(&" + t.structure(of) + ")"
	}
	panic("no kind for " + of.String())
}

func (t *table) structure(of reflect.Type) string {
	if name, known := t.names[of]; known {
		return name
	}
	name := static(of)
	for _, other := range t.names {
		if other == name {
			panic("two structs are called " + name)
		}
	}
	t.names[of] = name
	var fields strings.Builder
	t.fields(of, nil, &fields)
	fmt.Fprintf(&t.out, "pub static %s: Struct = Struct { name: %q, fields: &[\n%s] };\n", name, of.String(), &fields)
	return name
}

func (t *table) fields(of reflect.Type, embedded []string, out *strings.Builder) {
	for i := range of.NumField() {
		field := of.Field(i)
		key, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.Anonymous && key == "" {
			t.fields(field.Type, append(embedded, field.Name), out)
			continue
		}
		path := ""
		if len(embedded) > 0 {
			path = fmt.Sprintf(".embedded(%q)", strings.Join(embedded, "."))
		}
		fmt.Fprintf(out, "    Field::new(%q, %s)%s,\n", key, t.kind(field.Type), path)
	}
}

func printTable() {
	t := table{names: map[reflect.Type]string{}}
	t.structure(reflect.TypeFor[v1alpha1.SubscriptionSpec]())
	t.structure(reflect.TypeFor[operatorsv1.OperatorGroupSpec]())
	fmt.Println("//! The fields of OLM's specs and of the Kubernetes types in them, as Go declares them.")
	fmt.Println("//!")
	fmt.Println("//! Written by `tests/oracle/strict`.")
	fmt.Println()
	fmt.Println("use reeve_go_compat::json::typed::{Field, Struct, TEXT, Type};")
	fmt.Println()
	fmt.Print(t.out.String())
}

func decode(input map[string]json.RawMessage) (string, error) {
	for name, target := range targets() {
		given, is := input[name]
		if !is {
			continue
		}
		// The controller writes what it has read again before it decodes it, which sorts the keys.
		var read any
		if err := json.Unmarshal(given, &read); err != nil {
			return "", err
		}
		again, err := json.Marshal(read)
		if err != nil {
			return "", err
		}
		decoder := json.NewDecoder(bytes.NewReader(again))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(target); err != nil {
			return err.Error(), nil
		}
		return "", nil
	}
	return "", fmt.Errorf("no known target in %v", input)
}

func printCases() error {
	var inputs []map[string]json.RawMessage
	if err := json.NewDecoder(os.Stdin).Decode(&inputs); err != nil {
		return err
	}
	type answer struct {
		Input any    `json:"input"`
		Error string `json:"error"`
	}
	answers := []answer{}
	for _, input := range inputs {
		refused, err := decode(input)
		if err != nil {
			return err
		}
		answers = append(answers, answer{input, refused})
	}
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetIndent("", " ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(answers)
}

func main() {
	if os.Args[1] == "table" {
		printTable()
		return
	}
	if err := printCases(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
