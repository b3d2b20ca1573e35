// Program oracle records what the libraries of Gatekeeper answer to the corpus of the crate `gatekeeper`.
//
//	oracle corpus FOLDER            writes NAME.json beside each NAME.yaml of the folder
//	oracle triples FOLDER COUNT     writes generated (template, constraint, object) triples to standard output
//	oracle numbers                  writes generated expressions with numbers, and what they are, to standard output
//	oracle evaluate SETUP OBJECTS   reviews the objects of a file by the templates and constraints of another, and prints what it took
package main

import (
	"fmt"
	"os"
	"strconv"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) >= 2 && args[0] == "corpus":
		return recordCorpus(args[1], args[2:])
	case len(args) == 3 && args[0] == "triples":
		count, err := strconv.Atoi(args[2])
		if err != nil {
			return fmt.Errorf("the count of triples: %w", err)
		}
		return writeTriples(args[1], count)
	case len(args) == 1 && args[0] == "numbers":
		return writeNumbers()
	case len(args) == 3 && args[0] == "evaluate":
		return evaluate(args[1], args[2])
	default:
		return fmt.Errorf("usage: oracle corpus FOLDER [NAME...] | oracle triples FOLDER COUNT | oracle numbers | oracle evaluate SETUP OBJECTS")
	}
}
