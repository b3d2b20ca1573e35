package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

const sharedObjects = "objects.yaml"

type object = map[string]any

// A corpusCase is one file of the corpus.
type corpusCase struct {
	Description string        `json:"description"`
	Templates   []object      `json:"templates"`
	Constraints []object      `json:"constraints"`
	Inventory   []any         `json:"inventory"`
	Reviews     []reviewInput `json:"reviews"`
	// Point is the enforcement point of the reviews.
	Point string `json:"point"`
	// CRD asks for the constraint CRDs in the answer.
	CRD bool `json:"crd"`
	// Untripled leaves the case out of the generated triples.
	Untripled bool `json:"untripled"`
}

// A reviewInput is one object to review: the name of a shared object, or an object with what the caller knows of it.
type reviewInput struct {
	Object          object  `json:"object"`
	Namespace       object  `json:"namespace"`
	Source          *string `json:"source"`
	AdmissionReview object  `json:"admissionReview"`
	// Shared is the name of a shared object; the file has the name alone.
	Shared string `json:"shared"`
}

func (input *reviewInput) UnmarshalJSON(data []byte) error {
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte(`"`)) {
		return json.Unmarshal(data, &input.Shared)
	}
	type plain reviewInput
	return decodeNumbers(data, (*plain)(input))
}

// A corpus is all cases by name, and the objects that they share.
type corpus struct {
	names   []string
	cases   map[string]*corpusCase
	objects map[string]object
}

func readCorpus(folder string) (*corpus, error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil {
		return nil, err
	}
	read := &corpus{cases: map[string]*corpusCase{}, objects: map[string]object{}}
	for _, path := range paths {
		if filepath.Base(path) == sharedObjects {
			if err := readYAML(path, &read.objects); err != nil {
				return nil, err
			}
			continue
		}
		one := &corpusCase{}
		if err := readYAML(path, one); err != nil {
			return nil, err
		}
		name := strings.TrimSuffix(filepath.Base(path), ".yaml")
		read.cases[name] = one
		read.names = append(read.names, name)
	}
	slices.Sort(read.names)
	for name, one := range read.cases {
		if err := one.resolve(read.objects); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return read, nil
}

func readYAML(path string, into any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	plain, err := yaml.YAMLToJSONStrict(text)
	if err == nil {
		err = decodeNumbers(plain, into)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// decodeNumbers keeps numbers as they are written.
func decodeNumbers(data []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	decoder.UseNumber()
	return decoder.Decode(into)
}

// resolve puts the shared objects in the place of their names.
func (one *corpusCase) resolve(shared map[string]object) error {
	for i := range one.Reviews {
		review := &one.Reviews[i]
		if review.Shared == "" {
			continue
		}
		found, ok := shared[review.Shared]
		if !ok {
			return fmt.Errorf("reviews[%d]: no shared object %q", i, review.Shared)
		}
		review.Object = found
	}
	for i, entry := range one.Inventory {
		name, ok := entry.(string)
		if !ok {
			continue
		}
		found, ok := shared[name]
		if !ok {
			return fmt.Errorf("inventory[%d]: no shared object %q", i, name)
		}
		one.Inventory[i] = found
	}
	return nil
}

// unstructuredOf is the object as the API machinery decodes it: numbers without a fraction are integers.
func unstructuredOf(from object) (*unstructured.Unstructured, error) {
	text, err := json.Marshal(from)
	if err != nil {
		return nil, err
	}
	content := map[string]any{}
	if err := unmarshalNumbers(text, &content); err != nil {
		return nil, err
	}
	return &unstructured.Unstructured{Object: content}, nil
}

func recordCorpus(folder string, only []string) error {
	read, err := readCorpus(folder)
	if err != nil {
		return err
	}
	for _, name := range read.names {
		if len(only) > 0 && !slices.Contains(only, name) {
			continue
		}
		answer, err := read.cases[name].answer()
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		var text bytes.Buffer
		encoder := json.NewEncoder(&text)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", " ")
		if err := encoder.Encode(answer); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, name+".json"), text.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}
