// Records what Go and its libraries answer, for the tests of templates-engine.
//
//	go run . <what>        writes the fixture of that name to standard output
package main

import (
	"fmt"
	"os"
	"sort"
)

// programs holds every fixture's program by its name; each file of this package adds its own.
var programs = map[string]func() error{}

func main() {
	if len(os.Args) == 2 {
		if program, ok := programs[os.Args[1]]; ok {
			if err := program(); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			return
		}
	}
	names := make([]string, 0, len(programs))
	for name := range programs {
		names = append(names, name)
	}
	sort.Strings(names)
	fmt.Fprintln(os.Stderr, "usage: go run .", names)
	os.Exit(2)
}
