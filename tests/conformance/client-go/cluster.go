package main

import (
	"context"
	"fmt"
	"regexp"
	"sort"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/tools/record"
	"k8s.io/kube-openapi/pkg/util/proto"
)

// pausableLock is a lock whose holder can be stopped between two writes. A renewal that is interrupted on its way may be written after client-go
// has read the Lease for its release; the release is then a conflict and the Lease keeps its holder.
type pausableLock struct {
	resourcelock.Interface
	writes sync.Mutex
}

func (lock *pausableLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	lock.writes.Lock()
	defer lock.writes.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	return lock.Interface.Update(ctx, record)
}

// between runs what must not interrupt a write.
func (lock *pausableLock) between(run func()) {
	lock.writes.Lock()
	defer lock.writes.Unlock()
	run()
}

// election is two candidates for one Lease, one after the other.
func election(t *traveller) error {
	leases := t.typed.CoordinationV1().Leases(t.namespace)
	lead := func(name string, wait bool) error {
		ctx, cancel := context.WithCancel(t.context)
		defer cancel()
		started := make(chan struct{})
		lock := &pausableLock{Interface: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: t.namespace, Name: "throne"},
			Client:     t.typed.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: name},
		}}
		elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
			Lock: lock,
			// A busy machine delays a renewal by seconds: the deadline is far away.
			LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second,
			RetryPeriod:     200 * time.Millisecond,
			ReleaseOnCancel: true,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(context.Context) { close(started) },
				OnStoppedLeading: func() { say("stopped", "%s", name) },
				OnNewLeader:      func(string) {},
			},
		})
		if err != nil {
			return err
		}
		ended := make(chan struct{})
		go func() { elector.Run(ctx); close(ended) }()
		select {
		case <-started:
		case <-t.context.Done():
			return fmt.Errorf("%s does not lead", name)
		}
		lease, err := leases.Get(t.context, "throne", metav1.GetOptions{})
		if err != nil {
			return err
		}
		say("leads", "%s, %d seconds, %d transitions", *lease.Spec.HolderIdentity, *lease.Spec.LeaseDurationSeconds, *lease.Spec.LeaseTransitions)
		acquired := lease.Spec.AcquireTime
		err = t.until("a renewal", func() (bool, error) {
			lease, err := leases.Get(t.context, "throne", metav1.GetOptions{})
			if err != nil {
				return false, err
			}
			return lease.Spec.RenewTime.After(acquired.Time), nil
		})
		say("renews", "%v", err == nil)
		if wait {
			// Rivals see who leads, and do not.
			rival := &resourcelock.LeaseLock{
				LeaseMeta: metav1.ObjectMeta{Namespace: t.namespace, Name: "throne"}, Client: t.typed.CoordinationV1(),
			}
			seen, _, err := rival.Get(t.context)
			if err != nil {
				return err
			}
			say("a rival sees", "%s", seen.HolderIdentity)
		}
		lock.between(cancel)
		<-ended
		lease, err = leases.Get(t.context, "throne", metav1.GetOptions{})
		if err != nil {
			return err
		}
		say("released", "%q, %d seconds", *lease.Spec.HolderIdentity, *lease.Spec.LeaseDurationSeconds)
		return nil
	}
	if err := lead("first", true); err != nil {
		return err
	}
	return lead("second", false)
}

// events are recorded as controllers do it.
func events(t *traveller) error {
	about, err := t.typed.CoreV1().ConfigMaps(t.namespace).Create(t.context, configMap("a", "1", nil), metav1.CreateOptions{})
	if err != nil {
		return err
	}
	broadcaster := record.NewBroadcaster(record.WithContext(t.context))
	defer broadcaster.Shutdown()
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: t.typed.CoreV1().Events(t.namespace)})
	recorder := broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "tour"})
	api := t.typed.CoreV1().Events(t.namespace)
	counted := func(reason string, count int32) error {
		return t.until(fmt.Sprintf("%d times %s", count, reason), func() (bool, error) {
			listed, err := api.List(t.context, metav1.ListOptions{FieldSelector: "reason=" + reason})
			return err == nil && len(listed.Items) == 1 && listed.Items[0].Count == count, err
		})
	}
	for count := range int32(3) {
		recorder.Event(about, corev1.EventTypeNormal, "Seen", "it was seen")
		if err := counted("Seen", count+1); err != nil {
			return err
		}
	}
	recorder.AnnotatedEventf(about, map[string]string{"why": "because"}, corev1.EventTypeWarning, "Odd", "%d is odd", 3)
	if err := counted("Odd", 1); err != nil {
		return err
	}
	found, err := api.SearchWithContext(t.context, scheme.Scheme, about)
	if err != nil {
		return err
	}
	sort.Slice(found.Items, func(one, other int) bool { return found.Items[one].Reason < found.Items[other].Reason })
	for _, event := range found.Items {
		event.Name, event.ManagedFields = "", nil
		show("event", event, nil)
	}
	of, err := api.List(t.context, metav1.ListOptions{FieldSelector: "involvedObject.name=a,type=Warning"})
	if err != nil {
		return err
	}
	say("warnings", "%d", len(of.Items))
	return nil
}

// discover asks what there is.
func discover(t *traveller) error {
	version, err := t.discovery.ServerVersion()
	if err != nil {
		return err
	}
	say("version", "%s.%s", version.Major, version.Minor)
	groups, resources, err := t.discovery.ServerGroupsAndResources()
	if err != nil {
		return err
	}
	for _, group := range groups {
		// Others make kinds meanwhile.
		if strings.HasSuffix(group.Name, "example.com") {
			continue
		}
		var versions []string
		for _, version := range group.Versions {
			versions = append(versions, version.Version)
		}
		say("group", "%q %v, best %s", group.Name, versions, group.PreferredVersion.Version)
	}
	// They come in any order.
	sort.Slice(resources, func(one, other int) bool { return resources[one].GroupVersion < resources[other].GroupVersion })
	for _, list := range resources {
		if strings.Contains(list.GroupVersion, "example.com") {
			continue
		}
		sort.Slice(list.APIResources, func(one, other int) bool { return list.APIResources[one].Name < list.APIResources[other].Name })
		for _, resource := range list.APIResources {
			say("resource", "%s %s %q %s namespaced=%v %v %v %v", list.GroupVersion, resource.Name, resource.SingularName, resource.Kind,
				resource.Namespaced, resource.Verbs, resource.ShortNames, resource.Categories)
		}
	}
	preferred, err := t.discovery.ServerPreferredNamespacedResources()
	if err != nil {
		return err
	}
	count := 0
	for _, list := range discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "create", "delete"}}, preferred) {
		if !strings.Contains(list.GroupVersion, "example.com") {
			count += len(list.APIResources)
		}
	}
	say("preferred", "%d namespaced resources that can be listed, made and deleted", count)
	cached := memory.NewMemCacheClient(t.discovery)
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(cached)
	for _, kind := range []schema.GroupKind{{Kind: "ConfigMap"}, {Group: "apps", Kind: "Deployment"}, {Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}, {Kind: "Node"}, {Kind: "Nothing"}} {
		mapping, err := mapper.RESTMapping(kind)
		if err != nil {
			say("mapping", "%s: %v", kind, err)
			continue
		}
		say("mapping", "%s is %s, %s", kind, mapping.Resource, mapping.Scope.Name())
	}
	expander := restmapper.NewShortcutExpander(mapper, cached, nil)
	for _, name := range []string{"cm", "deploy", "hpa", "crd", "sa", "pods", "namespace", "nonsense"} {
		kind, err := expander.KindFor(schema.GroupVersionResource{Resource: name})
		say("kind", "%s is %s, %v", name, kind, err)
	}
	if _, err := t.discovery.ServerResourcesForGroupVersion("missing.example.com/v1"); err != nil {
		refused("no such group", err)
	}
	paths, err := t.discovery.OpenAPIV3().Paths()
	if err != nil {
		return err
	}
	versions := regexp.MustCompile(`^(api|apis/[^/]+)/v[^/]+$`)
	var names []string
	for name := range paths {
		// Of an embedded server the paths of versions are enough.
		if versions.MatchString(name) && !strings.Contains(name, "example.com") {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	say("OpenAPI v3", "%v", names)
	return models(t)
}

// models are the schemas of the older document, as kubectl reads them.
func models(t *traveller) error {
	document, err := t.discovery.OpenAPISchema()
	if err != nil {
		return err
	}
	say("OpenAPI v2", "%s, %s", document.GetSwagger(), document.GetInfo().GetTitle())
	models, err := proto.NewOpenAPIData(document)
	if err != nil {
		return err
	}
	for _, name := range []string{
		"io.k8s.api.core.v1.ConfigMap", "io.k8s.api.core.v1.Container", "io.k8s.api.apps.v1.DeploymentSpec",
		"io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta", "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
		"io.k8s.apimachinery.pkg.api.resource.Quantity", "io.k8s.apimachinery.pkg.apis.meta.v1.Time",
	} {
		model := models.LookupModel(name)
		if model == nil {
			say("no model", "%s", name)
			continue
		}
		say("model", "%s is %T, %v", name, model, model.GetExtensions())
		if kind, is := model.(*proto.Kind); is {
			for _, field := range kind.Keys() {
				say("field", "%s: %T, %v, %v", field, kind.Fields[field], kind.IsRequired(field), kind.Fields[field].GetExtensions())
			}
		}
	}
	return nil
}
