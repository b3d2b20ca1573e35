package main

import (
	"context"
	"fmt"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/spf13/pflag"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"

	"github.com/operator-framework/operator-lifecycle-manager/pkg/controller/operators/catalog"
)

// The images of the Pods and Jobs that the controller would make. Catalogs that have an address need no Pod, bundles
// that have their objects in the catalog need no Job.
const noImage = "none.invalid/none"

// installPlanTimeout is how long an InstallPlan is tried again after an error. Upstream's minute begins with the first
// try, and all operators of a suite share the five requests a second of one client: on a busy machine that is too short.
const installPlanTimeout = 10 * time.Minute

// unpackTimeout is how long a Job may unpack a bundle.
const unpackTimeout = 10 * time.Minute

// noUser leaves the user of those Pods and Jobs to their images.
const noUser = -1

// runCatalog runs the controller of the upstream command catalog: that of CatalogSources, Subscriptions and
// InstallPlans.
func runCatalog(ctx context.Context, args []string) error {
	flags := pflag.NewFlagSet("catalog", pflag.ContinueOnError)
	kubeconfig := flags.String("kubeconfig", "", "file of the kubeconfig")
	namespace := flags.String("namespace", "olm", "namespace of the catalogs that all namespaces may use")
	if err := flags.Parse(args); err != nil {
		return err
	}
	operator, err := catalog.NewOperator(
		ctx, *kubeconfig, clock.RealClock{}, logrus.New(), resync,
		noImage, noImage, noImage, *namespace, scheme.Scheme,
		installPlanTimeout, unpackTimeout, noUser,
	)
	if err != nil {
		return fmt.Errorf("creating the controller of catalogs: %w", err)
	}
	operator.Run(ctx)
	<-operator.Ready()
	<-operator.Done()
	return nil
}
