package main

import (
	"context"
	"fmt"
	"sort"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/pager"
	watchtools "k8s.io/client-go/tools/watch"
)

// lists reads pages, selections, metadata and tables.
func lists(t *traveller) error {
	api := t.typed.CoreV1().ConfigMaps(t.namespace)
	for number := range 10 {
		set := map[string]string{"odd": fmt.Sprint(number%2 == 1)}
		if err := t.create(fmt.Sprintf("object-%d", number), "x", set); err != nil {
			return err
		}
	}
	mine := "odd"
	options := metav1.ListOptions{Limit: 4, LabelSelector: mine}
	for page := 1; ; page++ {
		listed, err := api.List(t.context, options)
		if err != nil {
			return err
		}
		rest := "none"
		if listed.RemainingItemCount != nil {
			rest = fmt.Sprint(*listed.RemainingItemCount)
		}
		say("page", "%d: %d objects, more=%v, left %s", page, len(listed.Items), listed.Continue != "", rest)
		if listed.Continue == "" {
			break
		}
		// Later pages are of the same moment.
		late := fmt.Sprintf("late-%d", page)
		if err := t.create(late, "x", map[string]string{"odd": "late"}); err != nil {
			return err
		}
		options.Continue = listed.Continue
	}
	paged := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return api.List(ctx, options)
	})
	paged.PageSize = 3
	err := paged.EachListItem(t.context, metav1.ListOptions{LabelSelector: "odd=true"}, func(object runtime.Object) error {
		accessor, err := meta.Accessor(object)
		if err != nil {
			return err
		}
		say("of all pages", "%s", accessor.GetName())
		return nil
	})
	if err != nil {
		return err
	}
	for _, selector := range []metav1.ListOptions{
		{FieldSelector: "metadata.name=object-3"},
		{FieldSelector: "metadata.name!=object-3,metadata.namespace=" + t.namespace, LabelSelector: "odd in (true)"},
		{LabelSelector: "odd,odd notin (true,false)"},
		{LabelSelector: "!odd", FieldSelector: "metadata.name!=kube-root-ca.crt"},
		{LabelSelector: "odd=true,"},
		{LabelSelector: "a=b=c"},
		{FieldSelector: "data.x=1"},
		{Continue: "!"},
		// {}, {"v":"meta.k8s.io/v1"} and {"v":"meta.k8s.io/v1","rv":1}
		{Continue: "e30"},
		{Continue: "eyJ2IjoibWV0YS5rOHMuaW8vdjEifQ"},
		{Continue: "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MX0"},
		{ResourceVersion: "x"},
		{ResourceVersion: "0", ResourceVersionMatch: metav1.ResourceVersionMatchExact},
		{ResourceVersionMatch: metav1.ResourceVersionMatchExact},
		{ResourceVersion: "0", LabelSelector: "odd=late"},
		{Limit: -1, LabelSelector: "odd=late"},
	} {
		step := fmt.Sprintf("list of %q %q %q %q", selector.LabelSelector, selector.FieldSelector, selector.ResourceVersion, selector.Continue)
		listed, err := api.List(t.context, selector)
		if err != nil {
			refused(step, err)
			continue
		}
		var names []string
		for _, object := range listed.Items {
			names = append(names, object.Name)
		}
		say(step, "%v", names)
	}
	partial, err := t.metadata.Resource(configMaps).Namespace(t.namespace).List(t.context, metav1.ListOptions{LabelSelector: "odd=late"})
	show("metadata only", partial, err)
	one, err := t.metadata.Resource(configMaps).Namespace(t.namespace).Get(t.context, "object-1", metav1.GetOptions{})
	show("metadata of one", one, err)
	every, err := t.typed.CoreV1().ConfigMaps("").List(t.context, metav1.ListOptions{LabelSelector: "odd=late"})
	if err != nil {
		return err
	}
	for _, object := range every.Items {
		if object.Namespace == t.namespace {
			say("of all namespaces", "%s", object.Name)
		}
	}
	return nil
}

// watches follows changes from a revision on.
func watches(t *traveller) error {
	api := t.typed.CoreV1().ConfigMaps(t.namespace)
	set := map[string]string{"watched": "yes"}
	listed, err := api.List(t.context, metav1.ListOptions{LabelSelector: "watched"})
	if err != nil {
		return err
	}
	if err := t.create("a", "1", set); err != nil {
		return err
	}
	if err := t.merge("a", `{"data":{"value":"2"}}`); err != nil {
		return err
	}
	selected := &cache.ListWatch{WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
		options.LabelSelector = "watched"
		return api.Watch(ctx, options)
	}}
	retrying, err := watchtools.NewRetryWatcherWithContext(t.context, listed.ResourceVersion, selected)
	if err != nil {
		return err
	}
	defer retrying.Stop()
	next := func(step string) error {
		select {
		case event := <-retrying.ResultChan():
			object, is := event.Object.(*corev1.ConfigMap)
			if !is {
				say(step, "%s %T", event.Type, event.Object)
				return nil
			}
			say(step, "%s %s", event.Type, described(object))
			return nil
		case <-t.context.Done():
			return fmt.Errorf("%s: no event", step)
		}
	}
	for range 2 {
		if err := next("made before the watch"); err != nil {
			return err
		}
	}
	if err := t.merge("a", `{"data":{"value":"3"}}`); err != nil {
		return err
	}
	if err := next("changed"); err != nil {
		return err
	}
	if err := api.Delete(t.context, "a", metav1.DeleteOptions{}); err != nil {
		return err
	}
	if err := next("deleted"); err != nil {
		return err
	}
	if err := untilSynced(t, selected); err != nil {
		return err
	}
	_, err = api.Watch(t.context, metav1.ListOptions{ResourceVersion: "x"})
	refused("watch from no revision", err)
	_, err = api.Watch(t.context, metav1.ListOptions{LabelSelector: "a=b=c"})
	refused("watch of no selection", err)
	yes := true
	_, err = api.Watch(t.context, metav1.ListOptions{SendInitialEvents: &yes})
	refused("initial events without a match", err)
	streamed, err := api.Watch(t.context, metav1.ListOptions{
		SendInitialEvents: &yes, AllowWatchBookmarks: true, LabelSelector: "watched",
		ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
	})
	if err != nil {
		return err
	}
	defer streamed.Stop()
	for event := range streamed.ResultChan() {
		accessor, err := meta.Accessor(event.Object)
		if err != nil {
			return err
		}
		say("streamed", "%s %s %v", event.Type, accessor.GetName(), accessor.GetAnnotations())
		if event.Type == watch.Bookmark {
			break
		}
	}
	return short(t)
}

// untilSynced waits for a condition of an object that is made meanwhile.
func untilSynced(t *traveller, source *cache.ListWatch) error {
	source.ListWithContextFunc = func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		options.LabelSelector = "watched"
		return t.typed.CoreV1().ConfigMaps(t.namespace).List(ctx, options)
	}
	if err := t.create("b", "begun", map[string]string{"watched": "yes"}); err != nil {
		return err
	}
	changed := make(chan error, 1)
	precondition := func(cache.Store) (bool, error) {
		go func() { changed <- t.merge("b", `{"data":{"value":"done"}}`) }()
		return false, nil
	}
	event, err := watchtools.UntilWithSync(t.context, source, &corev1.ConfigMap{}, precondition, func(event watch.Event) (bool, error) {
		return event.Object.(*corev1.ConfigMap).Data["value"] == "done", nil
	})
	if err != nil {
		return err
	}
	say("until it was so", "%s", described(event.Object))
	return <-changed
}

// short is a watch that the server ends.
func short(t *traveller) error {
	second := int64(1)
	ended, err := t.typed.CoreV1().ConfigMaps(t.namespace).Watch(t.context, metav1.ListOptions{TimeoutSeconds: &second, LabelSelector: "nobody"})
	if err != nil {
		return err
	}
	count := 0
	for range ended.ResultChan() {
		count++
	}
	say("ended by the server", "after %d events", count)
	return nil
}

// protobuf is a client that prefers Protobuf.
func protobuf(t *traveller) error {
	typed, err := kubernetes.NewForConfig(t.inProtobuf())
	if err != nil {
		return err
	}
	api := typed.CoreV1().ConfigMaps(t.namespace)
	made, err := api.Create(t.context, configMap("a", "1", map[string]string{"x": "y"}), metav1.CreateOptions{})
	show("create", made, err)
	_, err = api.Create(t.context, configMap("a", "1", nil), metav1.CreateOptions{})
	refused("create again", err)
	made.Data["value"] = "2"
	changed, err := api.Update(t.context, made, metav1.UpdateOptions{})
	show("update", changed, err)
	patched, err := api.Patch(t.context, "a", types.StrategicMergePatchType, []byte(`{"data":{"value":"3"}}`), metav1.PatchOptions{})
	show("patch", patched, err)
	listed, err := api.List(t.context, metav1.ListOptions{LabelSelector: "x=y"})
	show("list", listed, err)
	pod, err := typed.CoreV1().Pods(t.namespace).Create(t.context, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}, metav1.CreateOptions{})
	if err == nil {
		sort.Slice(pod.Spec.Tolerations, func(one, other int) bool { return pod.Spec.Tolerations[one].Key < pod.Spec.Tolerations[other].Key })
		// The projected token's name ends in five letters of chance.
		pod.Spec.Volumes, pod.Spec.Containers[0].VolumeMounts = nil, nil
	}
	show("a Pod", pod, err)
	watched, err := api.Watch(t.context, metav1.ListOptions{LabelSelector: "x=y", ResourceVersion: listed.ResourceVersion})
	if err != nil {
		return err
	}
	defer watched.Stop()
	show("delete", nil, api.Delete(t.context, "a", metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(made.UID))}))
	event := <-watched.ResultChan()
	say("watch", "%s", event.Type)
	unknown, err := scheme.Scheme.New(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	if err != nil {
		return err
	}
	err = typed.CoreV1().RESTClient().Get().Namespace(t.namespace).Resource("configmaps").Name("a").Do(t.context).Into(unknown)
	refused("gone", err)
	return renewals(t, typed)
}

// renewals writes times with microseconds that end with zeros, and reads them as JSON.
func renewals(t *traveller, typed kubernetes.Interface) error {
	leases := typed.CoordinationV1().Leases(t.namespace)
	untyped := t.dynamic.Resource(coordinationv1.SchemeGroupVersion.WithResource("leases")).Namespace(t.namespace)
	holder, seconds := "tour", int32(1)
	for _, microseconds := range []int{0, 500_000, 332_730, 332_731} {
		renewed := metav1.NewMicroTime(time.Date(2026, 1, 2, 15, 4, 5, microseconds*1000, time.UTC))
		_, err := leases.Create(t.context, &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("renewed-%d", microseconds)},
			Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds, RenewTime: &renewed},
		}, metav1.CreateOptions{})
		if err != nil {
			refused("renewal", err)
			continue
		}
		read, err := untyped.Get(t.context, fmt.Sprintf("renewed-%d", microseconds), metav1.GetOptions{})
		if err != nil {
			return err
		}
		text, _, err := unstructured.NestedString(read.Object, "spec", "renewTime")
		say("renewal", "%s", strings.TrimPrefix(text, "2026-01-02T15:04:05"))
		if err != nil {
			return err
		}
	}
	return nil
}

// inProtobuf is the configuration of a client that sends Protobuf, and prefers it in answers.
func (t *traveller) inProtobuf() *rest.Config {
	config := rest.CopyConfig(t.config)
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	return config
}
