package main

import (
	"encoding/json"
	"os"
	"reflect"

	"github.com/Masterminds/sprig/v3"
)

// What a function takes and answers, by the names of Go's types.
type signature struct {
	In       []string `json:"in"`
	Variadic bool     `json:"variadic"`
	Out      []string `json:"out"`
}

func init() {
	programs["sprig_signatures"] = func() error {
		all := map[string]signature{}
		for name, function := range sprig.TxtFuncMap() {
			kind := reflect.TypeOf(function)
			found := signature{In: []string{}, Variadic: kind.IsVariadic()}
			for i := 0; i < kind.NumIn(); i++ {
				found.In = append(found.In, kind.In(i).String())
			}
			for i := 0; i < kind.NumOut(); i++ {
				found.Out = append(found.Out, kind.Out(i).String())
			}
			all[name] = found
		}
		encoder := json.NewEncoder(os.Stdout)
		encoder.SetIndent("", " ")
		return encoder.Encode(all)
	}
}
