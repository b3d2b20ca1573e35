// Command controlplane is a Kubernetes control plane for tests: one program
// that is etcd, kube-apiserver, kube-controller-manager or kubectl by its first
// argument. The testkit builds it on demand and starts one process per role.
//
// The roles other than etcd are the upstream commands, unchanged: they take the
// upstream flags.
package main

import (
	"fmt"
	"os"
	"sort"
	"strings"
)

// A role takes os.Args as if it were a program of its own and returns the exit code.
type role func() int

var roles = map[string]role{
	"etcd":                    runEtcd,
	"kube-apiserver":          runAPIServer,
	"kube-controller-manager": runControllerManager,
	"kubectl":                 runKubectl,
}

func main() {
	if len(os.Args) < 2 || roles[os.Args[1]] == nil {
		fmt.Fprintf(os.Stderr, "usage: controlplane %s [flags]\n", strings.Join(roleNames(), "|"))
		os.Exit(2)
	}
	run := roles[os.Args[1]]
	// The upstream commands read os.Args themselves.
	os.Args = os.Args[1:]
	os.Exit(run())
}

func roleNames() []string {
	names := make([]string, 0, len(roles))
	for name := range roles {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}
