// Renders the templates beside this program with Go's text/template, for the given time,
// and prints how many renders a second that was and how many allocations each took.
//
//	templates <folder> <objects.json> <what> <seconds>
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"text/template"
	"text/template/parse"
	"time"

	"github.com/Masterminds/sprig/v3"
	"gopkg.in/yaml.v3"
)

type object = map[string]any

// builtins are the functions of text/template itself that the templates use.
var builtins = map[string]any{"eq": 0, "printf": 0, "print": 0, "index": 0}

func main() {
	if err := run(os.Args[1], os.Args[2], os.Args[3], os.Args[4]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(folder, objectsFile, what, seconds string) error {
	data, err := os.ReadFile(objectsFile)
	if err != nil {
		return err
	}
	var objects []object
	if err := json.Unmarshal(data, &objects); err != nil {
		return err
	}
	limit, err := strconv.ParseFloat(seconds, 64)
	if err != nil {
		return err
	}
	name := what
	if what == "parse" || what == "both" {
		name = "configmap"
	}
	text, err := os.ReadFile(filepath.Join(folder, name+".yaml"))
	if err != nil {
		return err
	}
	functions := sprig.TxtFuncMap()
	functions["lookup"] = lookup(objects)
	functions["toYaml"] = toYAML
	newTemplate := func() (*template.Template, error) {
		return template.New("tmpl").Funcs(functions).Parse(string(text))
	}
	parsed, err := newTemplate()
	if err != nil {
		return err
	}
	once := func() (int, error) {
		t := parsed
		switch what {
		case "parse":
			// The parser alone, without the copies of all functions that a Template makes.
			_, err := parse.Parse("tmpl", string(text), "", "", functions, builtins)
			return 0, err
		case "both":
			if t, err = newTemplate(); err != nil {
				return 0, err
			}
		}
		var out bytes.Buffer
		err := t.Execute(&out, nil)
		return out.Len(), err
	}
	size, err := once()
	if err != nil {
		return err
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	started := time.Now()
	renders := 0
	for time.Since(started).Seconds() < limit {
		if _, err := once(); err != nil {
			return err
		}
		renders++
	}
	elapsed := time.Since(started).Seconds()
	runtime.ReadMemStats(&after)
	allocations := float64(after.Mallocs-before.Mallocs) / float64(renders)
	fmt.Printf("%.1f %.0f %d\n", float64(renders)/elapsed, allocations, size)
	return nil
}

// lookup answers from memory, without the copy that a shared cache would need.
func lookup(objects []object) func(apiVersion, kind, namespace, name string) (object, error) {
	return func(_, _, _, name string) (object, error) {
		if name == "" {
			items := make([]any, len(objects))
			for i, o := range objects {
				items[i] = o
			}
			return object{"items": items}, nil
		}
		for _, o := range objects {
			if o["metadata"].(object)["name"] == name {
				return o, nil
			}
		}
		return nil, nil
	}
}

func toYAML(value any) (string, error) {
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(value); err != nil {
		return "", err
	}
	return string(bytes.TrimSuffix(out.Bytes(), []byte("\n"))), nil
}
