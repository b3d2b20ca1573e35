// Command work is the work agent of Open Cluster Management: the library's controllers with the flags of its own
// command, without the other agents and webhooks that are linked into that.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	"open-cluster-management.io/api/feature"
	"open-cluster-management.io/ocm/pkg/common/options"
	"open-cluster-management.io/ocm/pkg/features"
	"open-cluster-management.io/ocm/pkg/version"
	"open-cluster-management.io/ocm/pkg/work/spoke"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	if err := features.SpokeMutableFeatureGate.Add(feature.DefaultSpokeWorkFeatureGates); err != nil {
		return fmt.Errorf("adding the feature gates: %w", err)
	}
	common, workload := options.NewAgentOptions(), spoke.NewWorkloadAgentOptions()
	agent := spoke.NewWorkAgentConfig(common, workload)
	command := common.CommonOpts.
		NewControllerCommandConfig("work-agent", version.Get(), agent.RunWorkloadAgent, clock.RealClock{}).
		NewCommandWithContext(ctx)
	command.Use = "work"
	flags := command.Flags()
	common.AddFlags(flags)
	workload.AddFlags(flags)
	features.SpokeMutableFeatureGate.AddFlag(flags)
	logging := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(logging)
	flags.AddGoFlagSet(logging)
	return command.Execute()
}
