package main

import (
	"fmt"
	"sort"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/dynamicinformer"
	kubeinformers "k8s.io/client-go/informers"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
)

var configMaps = corev1.SchemeGroupVersion.WithResource("configmaps")

// log records the calls of an event handler.
type log struct {
	lock    sync.Mutex
	lines   []string
	resyncs map[string]bool
}

func (l *log) record(format string, arguments ...any) {
	l.lock.Lock()
	defer l.lock.Unlock()
	l.lines = append(l.lines, fmt.Sprintf(format, arguments...))
}

func (l *log) handler() cache.ResourceEventHandlerDetailedFuncs {
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(object any, initial bool) {
			l.record("add %s initial=%v", described(object), initial)
		},
		UpdateFunc: func(before, after any) {
			if version(before) == version(after) {
				l.lock.Lock()
				defer l.lock.Unlock()
				l.resyncs[described(after)] = true
				return
			}
			l.record("update %s -> %s", described(before), described(after))
		},
		DeleteFunc: func(object any) {
			l.record("delete %s", described(object))
		},
	}
}

// phase waits until so many calls are recorded, prints and removes them.
func (l *log) phase(t *traveller, step string, count int) error {
	err := t.until(step, func() (bool, error) {
		l.lock.Lock()
		defer l.lock.Unlock()
		return len(l.lines) >= count, nil
	})
	l.lock.Lock()
	defer l.lock.Unlock()
	sort.Strings(l.lines)
	for _, line := range l.lines {
		say(step, "%s", line)
	}
	l.lines = nil
	return err
}

func version(object any) string {
	accessor, err := meta.Accessor(object)
	if err != nil {
		return ""
	}
	return accessor.GetResourceVersion()
}

func described(object any) string {
	if gone, is := object.(cache.DeletedFinalStateUnknown); is {
		return "unknown " + described(gone.Obj)
	}
	accessor, err := meta.Accessor(object)
	if err != nil {
		return fmt.Sprintf("%T", object)
	}
	value := ""
	if typed, is := object.(*corev1.ConfigMap); is {
		value = " " + typed.Data["value"]
	}
	return fmt.Sprintf("%s/%s %v%s", accessor.GetNamespace(), accessor.GetName(), accessor.GetLabels(), value)
}

func configMap(name, value string, set map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: set},
		Data:       map[string]string{"value": value},
	}
}

func (t *traveller) create(name, value string, set map[string]string) error {
	_, err := t.typed.CoreV1().ConfigMaps(t.namespace).Create(t.context, configMap(name, value, set), metav1.CreateOptions{})
	return err
}

func (t *traveller) merge(name, patch string) error {
	_, err := t.typed.CoreV1().ConfigMaps(t.namespace).Patch(t.context, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}

// informers get the same changes: a typed one, one of untyped objects and one of metadata.
func informers(t *traveller) error {
	mine := map[string]string{"side": "inner"}
	for _, name := range []string{"a", "b", "c"} {
		if err := t.create(name, "first", mine); err != nil {
			return err
		}
	}
	if err := t.create("outside", "first", map[string]string{"side": "outer"}); err != nil {
		return err
	}
	// An informer that lists first reads the cache of a real server, which may be late: what it lacks comes as a change.
	err := t.until("the cache of the server", func() (bool, error) {
		_, err := t.typed.CoreV1().ConfigMaps(t.namespace).Get(t.context, "outside", metav1.GetOptions{ResourceVersion: "0"})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return err == nil, err
	})
	if err != nil {
		return err
	}
	select_ := func(options *metav1.ListOptions) { options.LabelSelector = "side in (inner),!hidden" }
	stop := make(chan struct{})
	defer close(stop)

	typed := kubeinformers.NewSharedInformerFactoryWithOptions(t.typed, time.Second,
		kubeinformers.WithNamespace(t.namespace), kubeinformers.WithTweakListOptions(select_))
	dynamic := dynamicinformer.NewFilteredDynamicSharedInformerFactory(t.dynamic, 0, t.namespace, select_)
	partial := metadatainformer.NewFilteredSharedInformerFactory(t.metadata, 0, t.namespace, select_)
	watched := map[string]cache.SharedIndexInformer{
		"typed":    typed.Core().V1().ConfigMaps().Informer(),
		"dynamic":  dynamic.ForResource(configMaps).Informer(),
		"metadata": partial.ForResource(configMaps).Informer(),
	}
	names := []string{"dynamic", "metadata", "typed"}
	logs := map[string]*log{}
	for _, name := range names {
		logs[name] = &log{resyncs: map[string]bool{}}
		if _, err := watched[name].AddEventHandler(logs[name].handler()); err != nil {
			return err
		}
		go watched[name].Run(stop)
	}
	phase := func(step string, count int) error {
		for _, name := range names {
			if err := logs[name].phase(t, step+", "+name, count); err != nil {
				return err
			}
		}
		return nil
	}
	if err := phase("there already", 3); err != nil {
		return err
	}
	for _, change := range []struct {
		step string
		do   func() error
	}{
		{"another one", func() error { return t.create("d", "first", mine) }},
		{"another value", func() error { return t.merge("a", `{"data":{"value":"second"}}`) }},
		{"out of the selection", func() error { return t.merge("b", `{"metadata":{"labels":{"hidden":"yes"}}}`) }},
		{"into the selection", func() error { return t.merge("outside", `{"metadata":{"labels":{"side":"inner"}}}`) }},
		{"back into it", func() error { return t.merge("b", `{"metadata":{"labels":{"hidden":null}}}`) }},
		{"gone", func() error {
			return t.typed.CoreV1().ConfigMaps(t.namespace).Delete(t.context, "c", metav1.DeleteOptions{})
		}},
	} {
		if err := change.do(); err != nil {
			return err
		}
		if err := phase(change.step, 1); err != nil {
			return err
		}
	}
	if err := resynced(t, logs["typed"]); err != nil {
		return err
	}
	selected, err := labels.Parse("side=inner")
	if err != nil {
		return err
	}
	held, err := typed.Core().V1().ConfigMaps().Lister().ConfigMaps(t.namespace).List(selected)
	if err != nil {
		return err
	}
	sort.Slice(held, func(one, other int) bool { return held[one].Name < held[other].Name })
	for _, object := range held {
		say("the lister holds", "%s", described(object))
	}
	t.sayRequests("asked for", "/configmaps?")
	return nil
}

// resynced waits until every object was delivered again.
func resynced(t *traveller, events *log) error {
	err := t.until("a resync", func() (bool, error) {
		events.lock.Lock()
		defer events.lock.Unlock()
		current := 0
		for _, name := range []string{"a map[side:inner] second", "b map[side:inner] first", "d map[side:inner] first", "outside map[side:inner] first"} {
			if events.resyncs[t.namespace+"/"+name] {
				current++
			}
		}
		return current == 4, nil
	})
	say("resynced", "%v", err == nil)
	return err
}
