// Merges sets at random, and writes what came out: {"live","wanted","merged"} a line.
package main

import (
	"encoding/json"
	"fmt"
	"math/rand"

	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

const schema = `types:
- name: root
  map:
    fields:
    - name: set
      type:
        list:
          elementType: {scalar: string}
          elementRelationship: associative
`

func main() {
	p, err := typed.NewParser(schema)
	if err != nil {
		panic(err)
	}
	t := p.Type("root")
	r := rand.New(rand.NewSource(1))
	pick := func() []any {
		perm := r.Perm(7)
		out := []any{}
		for _, i := range perm[:r.Intn(7)] {
			out = append(out, string(rune('a'+i)))
		}
		return out
	}
	for i := 0; i < 100; i++ {
		l, c := pick(), pick()
		lt, err := t.FromUnstructured(map[string]any{"set": l})
		if err != nil {
			panic(err)
		}
		ct, err := t.FromUnstructured(map[string]any{"set": c})
		if err != nil {
			panic(err)
		}
		m, err := lt.Merge(ct)
		if err != nil {
			panic(err)
		}
		b, _ := json.Marshal(map[string]any{"live": l, "wanted": c, "merged": m.AsValue().Unstructured()})
		fmt.Println(string(b))
	}
}
