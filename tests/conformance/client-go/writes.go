package main

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	corev1apply "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/util/retry"
)

func deployment(name string) *appsv1.Deployment {
	set := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: set},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: set},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "one"}}},
			},
		},
	}
}

// writes changes objects in every way but by applying.
func writes(t *traveller) error {
	api := t.typed.CoreV1().ConfigMaps(t.namespace)
	made, err := api.Create(t.context, configMap("a", "1", nil), metav1.CreateOptions{FieldManager: "maker"})
	show("create", made, err)
	stale := made.DeepCopy()
	made.Data["value"] = "2"
	changed, err := api.Update(t.context, made, metav1.UpdateOptions{})
	show("update", changed, err)
	stale.Data["value"] = "3"
	_, err = api.Update(t.context, stale, metav1.UpdateOptions{})
	refused("stale update", err)
	attempts := 0
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		attempts++
		if attempts > 1 {
			if stale, err = api.Get(t.context, "a", metav1.GetOptions{}); err != nil {
				return err
			}
			stale.Data["value"] = "4"
		}
		_, err := api.Update(t.context, stale, metav1.UpdateOptions{})
		return err
	})
	say("retried", "%d attempts, %v", attempts, err)
	kept, err := api.Get(t.context, "a", metav1.GetOptions{})
	show("get", kept, err)
	trial, err := api.Create(t.context, configMap("trial", "1", nil), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	show("dry run", trial, err)
	_, err = api.Get(t.context, "trial", metav1.GetOptions{})
	refused("after the dry run", err)

	for _, patch := range []struct {
		step string
		kind types.PatchType
		text string
	}{
		{"JSON patch", types.JSONPatchType, `[{"op":"test","path":"/data/value","value":"4"},{"op":"replace","path":"/data/value","value":"5"}]`},
		{"failing test", types.JSONPatchType, `[{"op":"test","path":"/data/value","value":"4"}]`},
		{"missing path", types.JSONPatchType, `[{"op":"remove","path":"/data/other"}]`},
		{"merge patch", types.MergePatchType, `{"metadata":{"labels":{"a":"b"}},"data":{"value":null,"other":"6"}}`},
		{"merge patch of a stale revision", types.MergePatchType, `{"metadata":{"resourceVersion":"1"},"data":{"other":"7"}}`},
		{"strategic merge patch", types.StrategicMergePatchType, `{"data":{"$patch":"replace","value":"7"}}`},
		{"merge patch of a wrong type", types.MergePatchType, `{"data":{"value":7}}`},
		{"merge patch that is none", types.MergePatchType, `{`},
	} {
		patched, err := api.Patch(t.context, "a", patch.kind, []byte(patch.text), metav1.PatchOptions{FieldManager: "patcher"})
		show(patch.step, patched, err)
	}
	return t.workloads()
}

// workloads are patched by the keys of their lists, scaled, and have a status.
func (t *traveller) workloads() error {
	api := t.typed.AppsV1().Deployments(t.namespace)
	// Without a replica nobody makes Pods of it.
	none := int32(0)
	wanted := deployment("d")
	wanted.Spec.Replicas = &none
	wanted.Spec.Paused = true
	made, err := api.Create(t.context, wanted, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	show("a Deployment", made.Spec, err)
	patched, err := api.Patch(t.context, "d", types.StrategicMergePatchType, []byte(
		`{"spec":{"template":{"spec":{"containers":[{"name":"side","image":"two"},{"name":"main","env":[{"name":"A","value":"1"}]}]}}}}`,
	), metav1.PatchOptions{})
	if err != nil {
		return err
	}
	show("containers by name", patched.Spec.Template.Spec.Containers, err)
	patched, err = api.Patch(t.context, "d", types.StrategicMergePatchType, []byte(
		`{"spec":{"template":{"spec":{"$setElementOrder/containers":[{"name":"main"}],"containers":[{"$patch":"delete","name":"side"}]}}}}`,
	), metav1.PatchOptions{})
	if err != nil {
		return err
	}
	show("one less", patched.Spec.Template.Spec.Containers, err)
	say("generation", "%d", patched.Generation)
	scale, err := api.GetScale(t.context, "d", metav1.GetOptions{})
	if err == nil {
		scale.Status = autoscalingv1.ScaleStatus{Selector: scale.Status.Selector}
	}
	show("scale", scale, err)
	_, err = api.Patch(t.context, "d", types.MergePatchType, []byte(`{"spec":{"selector":{"matchLabels":{"other":"x"}}}}`), metav1.PatchOptions{})
	refused("another selector", err)

	pods := t.typed.CoreV1().Pods(t.namespace)
	_, err = pods.Create(t.context, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	pod, err := pods.Get(t.context, "p", metav1.GetOptions{})
	if err != nil {
		return err
	}
	show("who manages a Pod", pod.ManagedFields, nil)
	running, err := pods.Patch(t.context, "p", types.StrategicMergePatchType, []byte(
		`{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]},"metadata":{"labels":{"new":"yes"}}}`,
	), metav1.PatchOptions{}, "status")
	if err != nil {
		return err
	}
	show("status", running.Status, nil)
	show("labels beside the status", running.Labels, nil)
	return nil
}

// awaitNextSecond makes the times of the next write, which are whole seconds, later than those of every write before it.
func awaitNextSecond() {
	now := time.Now()
	time.Sleep(now.Truncate(time.Second).Add(time.Second).Sub(now))
}

// apply is server-side: of typed configurations and of untyped objects.
func apply(t *traveller) error {
	api := t.typed.CoreV1().ConfigMaps(t.namespace)
	wanted := corev1apply.ConfigMap("a", t.namespace).WithLabels(map[string]string{"l": "1"}).WithData(map[string]string{"x": "1", "y": "1"})
	first, err := api.Apply(t.context, wanted, metav1.ApplyOptions{FieldManager: "first"})
	show("apply", first, err)
	other := corev1apply.ConfigMap("a", t.namespace).WithData(map[string]string{"x": "2", "z": "2"})
	_, err = api.Apply(t.context, other, metav1.ApplyOptions{FieldManager: "second"})
	refused("conflict", err)
	forced, err := api.Apply(t.context, other, metav1.ApplyOptions{FieldManager: "second", Force: true})
	show("forced", forced, err)
	_, err = api.Apply(t.context, wanted, metav1.ApplyOptions{FieldManager: "first"})
	refused("conflict the other way", err)
	less := corev1apply.ConfigMap("a", t.namespace).WithData(map[string]string{"y": "1"})
	awaitNextSecond()
	fewer, err := api.Apply(t.context, less, metav1.ApplyOptions{FieldManager: "first"})
	show("fewer fields", fewer, err)
	if fewer != nil {
		for _, entry := range fewer.ManagedFields {
			say("managers by time", "%s", entry.Manager)
		}
	}
	_, err = api.Apply(t.context, wanted, metav1.ApplyOptions{})
	refused("without a manager", err)

	if fewer != nil {
		extracted, err := corev1apply.ExtractConfigMap(fewer, "first")
		show("what the first has", extracted, err)
		extracted, err = corev1apply.ExtractConfigMap(fewer, "second")
		show("what the second has", extracted, err)
	}

	untyped := t.dynamic.Resource(appsv1.SchemeGroupVersion.WithResource("deployments")).Namespace(t.namespace)
	object := func(container map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "apps/v1", "kind": "Deployment",
			"metadata": map[string]any{"name": "d"},
			"spec": map[string]any{
				"paused":   true,
				"replicas": int64(0),
				"selector": map[string]any{"matchLabels": map[string]any{"app": "d"}},
				"template": map[string]any{
					"metadata": map[string]any{"labels": map[string]any{"app": "d"}},
					"spec":     map[string]any{"containers": []any{container}},
				},
			},
		}}
	}
	one := map[string]any{"name": "main", "image": "one", "ports": []any{map[string]any{"containerPort": int64(80)}}}
	made, err := untyped.Apply(t.context, "d", object(one), metav1.ApplyOptions{FieldManager: "first"})
	if err != nil {
		return err
	}
	show("a Deployment", made.Object["spec"], nil)
	two := map[string]any{"name": "main", "image": "two"}
	_, err = untyped.Apply(t.context, "d", object(two), metav1.ApplyOptions{FieldManager: "second"})
	refused("conflict of an image", err)
	side := map[string]any{"name": "side", "image": "two"}
	both, err := untyped.Apply(t.context, "d", object(side), metav1.ApplyOptions{FieldManager: "second"})
	if err != nil {
		return err
	}
	containers, _, err := unstructured.NestedSlice(both.Object, "spec", "template", "spec", "containers")
	show("both containers", containers, err)
	for _, entry := range both.GetManagedFields() {
		if entry.Manager == "first" || entry.Manager == "second" {
			say("managed", "%s %s %s %s", entry.Manager, entry.Operation, entry.APIVersion, entry.FieldsV1.String())
		}
	}
	broken := object(two)
	broken.Object["spec"].(map[string]any)["nothing"] = "x"
	_, err = untyped.Apply(t.context, "d", broken, metav1.ApplyOptions{FieldManager: "third"})
	refused("unknown field", err)
	_, err = untyped.Apply(t.context, "another", object(two), metav1.ApplyOptions{FieldManager: "third"})
	say("another name", "%v", err)
	return nil
}

// deletes are with preconditions, of collections, and of what others own.
func deletes(t *traveller) error {
	api := t.typed.CoreV1().ConfigMaps(t.namespace)
	owner, err := api.Create(t.context, configMap("owner", "x", nil), metav1.CreateOptions{})
	if err != nil {
		return err
	}
	wrong := metav1.NewUIDPreconditions("00000000-0000-4000-8000-000000000000")
	refused("another uid", api.Delete(t.context, "owner", metav1.DeleteOptions{Preconditions: wrong}))
	stale := "1"
	refused("another revision", api.Delete(t.context, "owner", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: &stale}}))
	yes := true
	for number := range 3 {
		owned := configMap(fmt.Sprintf("owned-%d", number), "x", map[string]string{"set": "owned"})
		owned.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "owner", UID: owner.UID, BlockOwnerDeletion: &yes}}
		if _, err := api.Create(t.context, owned, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	foreground := metav1.DeletePropagationForeground
	show("in the foreground", nil, api.Delete(t.context, "owner", metav1.DeleteOptions{PropagationPolicy: &foreground}))
	count := func(selector string) (int, error) {
		listed, err := api.List(t.context, metav1.ListOptions{LabelSelector: selector, FieldSelector: "metadata.name!=kube-root-ca.crt"})
		return len(listed.Items), err
	}
	err = t.until("owner and owned to be gone", func() (bool, error) {
		left, err := count("")
		return left == 0, err
	})
	say("owner and owned gone", "%v", err == nil)

	held := configMap("held", "x", map[string]string{"set": "more"})
	held.Finalizers = []string{"example.com/held"}
	for _, object := range []*corev1.ConfigMap{held, configMap("more-1", "x", map[string]string{"set": "more"}), configMap("more-2", "x", map[string]string{"set": "more"})} {
		if _, err := api.Create(t.context, object, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	err = api.DeleteCollection(t.context, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "set=more"})
	show("a collection", nil, err)
	left, err := count("set=more")
	say("held is left", "%d %v", left, err)
	ending, err := api.Get(t.context, "held", metav1.GetOptions{})
	if err != nil {
		return err
	}
	say("held is ending", "%v, grace %v", ending.DeletionTimestamp != nil, *ending.DeletionGracePeriodSeconds)
	_, err = api.Create(t.context, configMap("held", "y", nil), metav1.CreateOptions{})
	refused("create while it ends", err)
	ending.Finalizers = append(ending.Finalizers, "example.com/late")
	_, err = api.Update(t.context, ending, metav1.UpdateOptions{})
	refused("a late finalizer", err)
	ending.Finalizers = nil
	released, err := api.Update(t.context, ending, metav1.UpdateOptions{})
	if err != nil {
		return err
	}
	say("released", "%s", released.Name)
	_, err = api.Get(t.context, "held", metav1.GetOptions{})
	refused("gone", err)
	refused("delete nothing", api.Delete(t.context, "nothing", metav1.DeleteOptions{}))
	return nil
}
