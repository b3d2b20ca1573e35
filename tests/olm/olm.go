package main

import (
	"context"
	"fmt"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	configclient "github.com/openshift/client-go/config/clientset/versioned"
	olmclient "github.com/operator-framework/operator-lifecycle-manager/pkg/api/client/clientset/versioned"
	"github.com/operator-framework/operator-lifecycle-manager/pkg/controller/operators"
	"github.com/operator-framework/operator-lifecycle-manager/pkg/controller/operators/olm"
	"github.com/operator-framework/operator-lifecycle-manager/pkg/controller/operators/validatingroundtripper"
	"github.com/operator-framework/operator-lifecycle-manager/pkg/lib/operatorclient"
	"github.com/operator-framework/operator-lifecycle-manager/pkg/lib/queueinformer"
)

// resync is how often a controller looks at objects that did not change. OLM's own intervals are minutes.
const resync = time.Minute

// runOLM runs the controllers of the upstream command olm: those of ClusterServiceVersions and OperatorGroups, and
// those that label what belongs to an operator.
func runOLM(ctx context.Context, args []string) error {
	flags := pflag.NewFlagSet("olm", pflag.ContinueOnError)
	kubeconfig := flags.String("kubeconfig", "", "file of the kubeconfig")
	if err := flags.Parse(args); err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	// A scenario is what a cluster does in an hour.
	config.QPS, config.Burst = 100, 200
	manager, err := newLabelManager(config)
	if err != nil {
		return err
	}
	operator, err := newOLMOperator(ctx, config, manager.GetScheme())
	if err != nil {
		return err
	}
	operator.Run(ctx)
	<-operator.Ready()
	if err := manager.Start(ctx); err != nil {
		return fmt.Errorf("running the manager: %w", err)
	}
	<-operator.Done()
	return nil
}

func newOLMOperator(ctx context.Context, config *rest.Config, scheme *runtime.Scheme) (*olm.Operator, error) {
	// The upstream command sends through it what the controllers create, and so proves that they label it.
	validating := validatingroundtripper.Wrap(config, scheme)
	configClient, err := configclient.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("creating the client of OpenShift's configuration: %w", err)
	}
	client, err := operatorclient.NewClientFromRestConfig(validating)
	if err != nil {
		return nil, fmt.Errorf("creating the client of Kubernetes: %w", err)
	}
	custom, err := olmclient.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("creating the client of OLM's kinds: %w", err)
	}
	metadataClient, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("creating the client of metadata: %w", err)
	}
	operator, err := olm.NewOperator(
		ctx,
		olm.WithLogger(logrus.New()),
		olm.WithWatchedNamespaces(metav1.NamespaceAll),
		olm.WithResyncPeriod(queueinformer.ResyncWithJitter(resync, 0.2)),
		olm.WithExternalClient(custom),
		olm.WithMetadataClient(metadataClient),
		olm.WithOperatorClient(client),
		olm.WithRestConfig(validating),
		olm.WithConfigClient(configClient),
	)
	if err != nil {
		return nil, fmt.Errorf("creating the controller of ClusterServiceVersions: %w", err)
	}
	return operator, nil
}

// newLabelManager makes the manager of the controllers that adopt the parts of an operator, by a label, and that keep
// its OperatorCondition.
func newLabelManager(config *rest.Config) (ctrl.Manager, error) {
	ctrl.SetLogger(zap.New())
	scheme := runtime.NewScheme()
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		return nil, err
	}
	if err := operators.AddToScheme(scheme); err != nil {
		return nil, err
	}
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:  scheme,
		Metrics: metricsserver.Options{BindAddress: "0"},
	})
	if err != nil {
		return nil, fmt.Errorf("creating the manager: %w", err)
	}
	client, log := manager.GetClient(), ctrl.Log
	adoption, err := operators.NewAdoptionReconciler(client, log, scheme)
	if err != nil {
		return nil, err
	}
	operator, err := operators.NewOperatorReconciler(client, log, scheme)
	if err != nil {
		return nil, err
	}
	generator, err := operators.NewOperatorConditionGeneratorReconciler(client, log, scheme)
	if err != nil {
		return nil, err
	}
	condition, err := operators.NewOperatorConditionReconciler(client, log, scheme)
	if err != nil {
		return nil, err
	}
	type reconciler interface {
		SetupWithManager(ctrl.Manager) error
	}
	for _, each := range []reconciler{adoption, operator, generator, condition} {
		if err := each.SetupWithManager(manager); err != nil {
			return nil, fmt.Errorf("adding %T to the manager: %w", each, err)
		}
	}
	return manager, nil
}
