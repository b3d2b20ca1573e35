package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"

	"github.com/open-policy-agent/frameworks/constraint/pkg/client"
)

// The triples are the same in every run.
const seed = 20261125

// A tripleFile holds constraints and objects once; triples name them by index.
type tripleFile struct {
	Constraints []object `json:"constraints"`
	Objects     []object `json:"objects"`
	Triples     []triple `json:"triples"`
}

// A triple is one template of a case, with the inventory of the case, one constraint and one object.
type triple struct {
	Case       string `json:"case"`
	Template   int    `json:"template"`
	Constraint int    `json:"constraint"`
	Object     int    `json:"object"`
	// The error of adding the constraint; the object is not reviewed then.
	Refused string   `json:"refused,omitempty"`
	Error   string   `json:"error,omitempty"`
	Results []result `json:"results,omitempty"`
}

// A source is a template that loads, with the client that has it and its inventory.
type source struct {
	name        string
	index       int
	kind        string
	client      *client.Client
	constraints []object
	objects     []object
}

type generator struct {
	random *rand.Rand
	file   tripleFile
	known  map[[4]any]bool
}

func writeTriples(folder string, count int) error {
	read, err := readCorpus(folder)
	if err != nil {
		return err
	}
	sources, objects, err := sourcesOf(read)
	if err != nil {
		return err
	}
	generator := &generator{random: rand.New(rand.NewPCG(seed, seed)), known: map[[4]any]bool{}}
	for n := 0; len(generator.file.Triples) < count; n++ {
		if err := generator.add(sources[n%len(sources)], objects); err != nil {
			return err
		}
	}
	return generator.write()
}

// write puts one triple, constraint or object on a line.
func (made *generator) write() error {
	out := bufio.NewWriter(os.Stdout)
	fmt.Fprint(out, "{\"constraints\": [\n")
	writeLines(out, made.file.Constraints)
	fmt.Fprint(out, "],\n\"objects\": [\n")
	writeLines(out, made.file.Objects)
	fmt.Fprint(out, "],\n\"triples\": [\n")
	writeLines(out, made.file.Triples)
	fmt.Fprint(out, "]}\n")
	return out.Flush()
}

func writeLines[T any](out *bufio.Writer, values []T) {
	for i, value := range values {
		encoded, err := json.Marshal(value)
		if err != nil {
			panic(err)
		}
		out.Write(encoded)
		if i+1 < len(values) {
			out.WriteByte(',')
		}
		out.WriteByte('\n')
	}
}

func sourcesOf(read *corpus) ([]source, []object, error) {
	var sources []source
	var objects []object
	for _, name := range slices.Sorted(keys(read.objects)) {
		objects = append(objects, read.objects[name])
	}
	for _, name := range read.names {
		one := read.cases[name]
		if one.Untripled {
			continue
		}
		for index, template := range one.Templates {
			gatekeeper, err := newClient(true)
			if err != nil {
				return nil, nil, err
			}
			if _, err := addTemplate(gatekeeper, template); err != nil {
				continue
			}
			for _, entry := range one.Inventory {
				// What the inventory refuses is a case of its own.
				_ = addInventory(gatekeeper, entry.(object))
			}
			made := source{name: name, index: index, client: gatekeeper, kind: kindOf(template)}
			for _, constraint := range one.Constraints {
				if constraint["kind"] == made.kind {
					made.constraints = append(made.constraints, constraint)
				}
			}
			for _, review := range one.Reviews {
				if review.Object != nil {
					made.objects = append(made.objects, review.Object)
				}
			}
			if len(made.constraints) > 0 {
				sources = append(sources, made)
			}
		}
	}
	return sources, objects, nil
}

func keys[V any](of map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for key := range of {
			if !yield(key) {
				return
			}
		}
	}
}

func kindOf(template object) string {
	var parsed struct {
		Spec struct {
			CRD struct {
				Spec struct {
					Names struct {
						Kind string `json:"kind"`
					} `json:"names"`
				} `json:"spec"`
			} `json:"crd"`
		} `json:"spec"`
	}
	text, _ := json.Marshal(template)
	_ = json.Unmarshal(text, &parsed)
	return parsed.Spec.CRD.Spec.Names.Kind
}

// add makes one triple of the source, unless there is the same already: its constraint mutated in one case of three, an object of its own mutated in two
// of three, or any shared object.
func (made *generator) add(from source, shared []object) error {
	constraint := copyOf(from.constraints[made.random.IntN(len(from.constraints))])
	if made.random.IntN(3) == 0 {
		if spec, ok := constraint["spec"].(object); ok {
			made.mutate(spec)
		}
	}
	pool := from.objects
	if len(pool) == 0 || made.random.IntN(4) == 0 {
		pool = shared
	}
	reviewed := copyOf(pool[made.random.IntN(len(pool))])
	for range made.random.IntN(4) {
		part := []string{"metadata", "spec", "data", "rules"}[made.random.IntN(4)]
		if inner, ok := reviewed[part]; ok {
			reviewed[part] = made.changed(inner)
		}
	}
	added := triple{
		Case: from.name, Template: from.index,
		Constraint: index(&made.file.Constraints, constraint),
		Object:     index(&made.file.Objects, reviewed),
	}
	identity := [4]any{added.Case, added.Template, added.Constraint, added.Object}
	if made.known[identity] {
		return nil
	}
	made.known[identity] = true
	if err := addConstraint(from.client, constraint); err != nil {
		added.Refused = text(err)
	} else {
		input := reviewInput{Object: reviewed}
		answer := input.review(from.client, "")
		added.Error, added.Results = answer.Error, answer.Results
		if err := removeConstraint(from.client, constraint); err != nil {
			return err
		}
	}
	made.file.Triples = append(made.file.Triples, added)
	return nil
}

func index(all *[]object, one object) int {
	for i, known := range *all {
		if reflect.DeepEqual(known, one) {
			return i
		}
	}
	*all = append(*all, one)
	return len(*all) - 1
}

// duplicate is a copy of any value.
func duplicate(value any) any { return copyOf(object{"value": value})["value"] }

func copyOf(from object) object {
	text, err := json.Marshal(from)
	if err != nil {
		panic(err)
	}
	copied := object{}
	if err := unmarshalNumbers(text, (*map[string]any)(&copied)); err != nil {
		panic(err)
	}
	return copied
}

// fresh is what a mutation puts in the place of another value.
func (made *generator) fresh() any {
	scalars := []any{
		"", "web", "registry.example/web:1.2", "docker.io/agent", "latest", "10m", "2Gi", "ä", "a b", "*.example.com", int64(0),
		int64(1), int64(-1), int64(7), int64(65536), 1.5, true, false, nil, []any{}, object{}, []any{"a", int64(1)},
		object{"a": int64(1)},
	}
	return scalars[made.random.IntN(len(scalars))]
}

func (made *generator) mutate(one object) {
	names := slices.Sorted(keys(one))
	if len(names) == 0 {
		return
	}
	name := names[made.random.IntN(len(names))]
	if made.random.IntN(6) == 0 {
		delete(one, name)
		return
	}
	one[name] = made.changed(one[name])
}

// changed is the value with one change somewhere in it.
func (made *generator) changed(value any) any {
	switch inner := value.(type) {
	case object:
		if len(inner) > 0 && made.random.IntN(12) > 0 {
			made.mutate(inner)
			return inner
		}
	case []any:
		if len(inner) > 0 {
			return made.changedList(inner)
		}
	}
	return made.fresh()
}

func (made *generator) changedList(list []any) any {
	at := made.random.IntN(len(list))
	switch made.random.IntN(6) {
	case 0:
		return slices.Delete(list, at, at+1)
	case 1:
		return append(list, duplicate(list[at]))
	case 2:
		return made.fresh()
	default:
		list[at] = made.changed(list[at])
		return list
	}
}
