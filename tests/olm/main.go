// Command olm is the Operator Lifecycle Manager for tests: one program that is its controllers (olm, catalog), the API
// server of PackageManifests (package-server), or the server of a catalog (opm-serve) by its first argument. The testkit
// builds it on demand and starts one process per role.
//
// opm-serve is the upstream command, unchanged, and package-server is it without questions to the API server about its
// callers, for which it would have to be a Pod: both take the upstream flags. olm and catalog run the upstream
// controllers without the upstream commands' page of metrics, whose port is fixed.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sort"
	"strings"
	"syscall"

	"github.com/operator-framework/operator-lifecycle-manager/pkg/package-server/server"
	"github.com/operator-framework/operator-registry/cmd/opm/serve"
)

// A role runs until the context ends.
type role func(ctx context.Context, args []string) error

var roles = map[string]role{
	"catalog":        runCatalog,
	"olm":            runOLM,
	"opm-serve":      runOPMServe,
	"package-server": runPackageServer,
}

func main() {
	if len(os.Args) < 2 || roles[os.Args[1]] == nil {
		fmt.Fprintf(os.Stderr, "usage: olm %s [flags]\n", strings.Join(roleNames(), "|"))
		os.Exit(2)
	}
	name := os.Args[1]
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	if err := roles[name](ctx, os.Args[2:]); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

func runPackageServer(ctx context.Context, args []string) error {
	options := server.NewPackageServerOptions(os.Stdout, os.Stderr)
	options.DisableAuthForTesting = true
	command := server.NewCommandStartPackageServer(ctx, options)
	command.SetArgs(args)
	return command.ExecuteContext(ctx)
}

func runOPMServe(ctx context.Context, args []string) error {
	command := serve.NewCmd()
	command.SetArgs(args)
	return command.ExecuteContext(ctx)
}

func roleNames() []string {
	names := make([]string, 0, len(roles))
	for name := range roles {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}
