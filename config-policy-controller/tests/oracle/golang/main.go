// The oracle prints what the Go libraries a policy controller is measured against really answer.
// `go run . yaml|quantity|sprint < inputs.json > answers.json`: a JSON list of inputs in, a JSON list
// of answers out. The Rust tests read the committed files and need no Go.
package main

import (
	stdjson "encoding/json"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// answer takes one input, decoded the way the Kubernetes client decodes objects.
func answer(about string, input any) (any, error) {
	switch about {
	case "yaml":
		text, err := yaml.Marshal(input)
		return string(text), err
	case "sprint":
		return fmt.Sprint(input), nil
	case "quantity":
		// One pair of strings: does each parse, and are the two equal?
		pair := input.([]any)
		left, leftErr := resource.ParseQuantity(pair[0].(string))
		right, rightErr := resource.ParseQuantity(pair[1].(string))
		equal := leftErr == nil && rightErr == nil && left.Cmp(right) == 0
		return []bool{leftErr == nil, rightErr == nil, equal}, nil
	default:
		return nil, fmt.Errorf("unknown question %q", about)
	}
}

func run() error {
	var inputs []stdjson.RawMessage
	if err := stdjson.NewDecoder(os.Stdin).Decode(&inputs); err != nil {
		return err
	}
	// The input is written back as it was read: decoding it would turn 1.0 into 1.
	type pair struct {
		Input  stdjson.RawMessage `json:"input"`
		Answer any                `json:"answer"`
	}
	out := []pair{}
	for _, input := range inputs {
		var value any
		if err := json.Unmarshal(input, &value); err != nil {
			return err
		}
		given, err := answer(os.Args[1], value)
		if err != nil {
			given = nil // the library refuses this input
		}
		out = append(out, pair{input, given})
	}
	enc := stdjson.NewEncoder(os.Stdout)
	enc.SetIndent("", " ")
	enc.SetEscapeHTML(false)
	return enc.Encode(out)
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
