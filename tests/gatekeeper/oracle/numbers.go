package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/open-policy-agent/frameworks/constraint/pkg/client"
)

// numbersObject, numbersParameters and numbersInventory are what the expressions read.
const (
	numbersObject = `{
	"apiVersion": "v1", "kind": "Numbers", "metadata": {"name": "numbers"},
	"zero": 0, "negativeZero": -0.0, "one": 1, "whole": 1.0, "thousand": 1e3, "half": 0.5, "tenth": 0.1, "third": 0.3333333333333333,
	"million": 1234567.5, "user": 1000650000, "small": 0.000001, "tiny": 1e-7, "safe": 9007199254740993, "longest": 9223372036854775807,
	"least": -9223372036854775808, "beyond": 9223372036854775808, "unsigned": 18446744073709551615, "long": 12345678901234567890,
	"e20": 1e20, "e21": 1e21, "e22": 1e22, "huge": 1.5e300, "list": [1, 1.0, 1.5, 1e3, 1e21]
}`
	numbersParameters = `{
	"whole": 1.0, "thousand": 1e3, "half": 0.5, "million": 1234567.5, "user": 1000650000, "tiny": 1e-7, "long": 12345678901234567890,
	"e20": 1e20, "e21": 1e21, "longest": 9223372036854775807, "list": [1, 1.0, 1.5, 1e3, 1e21]
}`
	numbersInventory = `{
	"apiVersion": "v1", "kind": "Numbers", "metadata": {"name": "stored"},
	"whole": 1.0, "half": 0.5, "million": 1234567.5, "user": 1000650000, "tiny": 1e-7, "long": 12345678901234567890, "e20": 1e20,
	"longest": 9223372036854775807
}`
)

// A numberFile holds the input and the expressions.
type numberFile struct {
	Object      object
	Parameters  object
	Inventory   object
	Expressions []expression
}

// An expression is a Rego expression with what the engine makes of it.
type expression struct {
	Group string `json:"group"`
	Rego  string `json:"rego"`
	// Text is the value in a list, as `%v` prints it; absent where the expression is undefined.
	Text *string `json:"text,omitempty"`
	// Refused says that a template with the expression does not load.
	Refused bool `json:"refused,omitempty"`
}

func writeNumbers() error {
	var file numberFile
	if err := decodeNumbers([]byte(numbersObject), &file.Object); err != nil {
		return err
	}
	if err := decodeNumbers([]byte(numbersParameters), &file.Parameters); err != nil {
		return err
	}
	if err := decodeNumbers([]byte(numbersInventory), &file.Inventory); err != nil {
		return err
	}
	file.Expressions = expressions()
	for at := 0; at < len(file.Expressions); at += evaluatedTogether {
		end := min(at+evaluatedTogether, len(file.Expressions))
		if err := file.evaluate(file.Expressions[at:end]); err != nil {
			return err
		}
	}
	return file.write()
}

// evaluatedTogether is how many templates a client has: each that it gets costs more the more it has.
const evaluatedTogether = 100

// evaluate fills in what the expressions are, each in a template of its own.
func (file *numberFile) evaluate(some []expression) error {
	gatekeeper, err := newClient(false)
	if err != nil {
		return err
	}
	for i := range some {
		kind := fmt.Sprintf("Number%d", i)
		if _, err := addTemplate(gatekeeper, some[i].template(kind)); err != nil {
			some[i].Refused = true
			continue
		}
		constraint := object{
			"apiVersion": "constraints.gatekeeper.sh/v1beta1", "kind": kind, "metadata": object{"name": "number"},
			"spec": object{"parameters": file.Parameters},
		}
		if err := addConstraint(gatekeeper, constraint); err != nil {
			return fmt.Errorf("%s: %w", some[i].Rego, err)
		}
	}
	if err := addInventory(gatekeeper, file.Inventory); err != nil {
		return err
	}
	return file.review(gatekeeper, some)
}

func (file *numberFile) review(gatekeeper *client.Client, some []expression) error {
	responses, err := audit(gatekeeper, file.Object)
	if err != nil {
		return err
	}
	for _, found := range responses.Results() {
		var i int
		if _, err := fmt.Sscanf(found.Constraint.GetKind(), "Number%d", &i); err != nil {
			return err
		}
		if some[i].Text != nil {
			return fmt.Errorf("%s: has more than one value", some[i].Rego)
		}
		some[i].Text = &found.Msg
	}
	return nil
}

func (one *expression) template(kind string) object {
	rego := "package number\n\nviolation contains {\"msg\": text} if {\n\ttext := sprintf(\"%v\", [[" + one.Rego + "]])\n}\n"
	return object{
		"apiVersion": "templates.gatekeeper.sh/v1", "kind": "ConstraintTemplate",
		"metadata": object{"name": strings.ToLower(kind)},
		"spec": object{
			"crd": object{"spec": object{
				"names":      object{"kind": kind},
				"validation": object{"openAPIV3Schema": object{"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
			}},
			"targets": []any{object{
				"target": "admission.k8s.gatekeeper.sh",
				"code":   []any{object{"engine": "Rego", "source": object{"version": "v1", "rego": rego}}},
			}},
		},
	}
}

// write puts one expression on a line.
func (file *numberFile) write() error {
	out := bufio.NewWriter(os.Stdout)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for i, given := range []struct {
		name string
		of   object
	}{{"object", file.Object}, {"parameters", file.Parameters}, {"inventory", file.Inventory}} {
		fmt.Fprintf(out, "%c%q: ", "{,,"[i], given.name)
		if err := encoder.Encode(given.of); err != nil {
			return err
		}
	}
	fmt.Fprint(out, ",\"expressions\": [\n")
	for i := range file.Expressions {
		if i > 0 {
			fmt.Fprint(out, ",")
		}
		if err := encoder.Encode(&file.Expressions[i]); err != nil {
			return err
		}
	}
	fmt.Fprint(out, "]}\n")
	return out.Flush()
}
