package main

import (
	"fmt"
	"sort"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/scale"
)

const gadgets = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.tour.example.com}
spec:
  group: tour.example.com
  scope: Namespaced
  names: {plural: gadgets, singular: gadget, kind: Gadget, shortNames: [gg]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}}
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          spec:
            type: object
            properties:
              size: {type: integer, minimum: 1, maximum: 10, default: 2}
              replicas: {type: integer}
              color: {type: string, enum: [red, green]}
              parts:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items: {type: object, required: [name], properties: {name: {type: string}, count: {type: integer}}}
            x-kubernetes-validations:
            - {rule: "!has(self.color) || self.color != 'green' || self.size < 5", message: green ones are small}
          status: {type: object, properties: {replicas: {type: integer}, phase: {type: string}}}
`

var (
	definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	gadget      = schema.GroupVersionResource{Group: "tour.example.com", Version: "v1", Resource: "gadgets"}
)

func object(text string) (*unstructured.Unstructured, error) {
	read := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &read); err != nil {
		return nil, err
	}
	return &unstructured.Unstructured{Object: read}, nil
}

// custom is a kind that is made on the way.
func custom(t *traveller) error {
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(t.discovery))
	_, err := mapper.RESTMapping(schema.GroupKind{Group: "tour.example.com", Kind: "Gadget"})
	say("mapped before", "%v", err)
	definition, err := object(gadgets)
	if err != nil {
		return err
	}
	if _, err := t.dynamic.Resource(definitions).Create(t.context, definition, metav1.CreateOptions{}); err != nil {
		return err
	}
	err = t.until("the definition", func() (bool, error) {
		definition, err := t.dynamic.Resource(definitions).Get(t.context, "gadgets.tour.example.com", metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		return conditions(definition) == "Established=True NamesAccepted=True", nil
	})
	if err != nil {
		return err
	}
	err = t.until("discovery", func() (bool, error) {
		mapper.Reset()
		mapping, err := mapper.RESTMapping(schema.GroupKind{Group: "tour.example.com", Kind: "Gadget"})
		if err != nil {
			return false, nil
		}
		say("mapped", "%s %s %s", mapping.Resource, mapping.GroupVersionKind, mapping.Scope.Name())
		return true, nil
	})
	if err != nil {
		return err
	}
	expanded, err := restmapper.NewShortcutExpander(mapper, t.discovery, func(text string) { say("warning", "%s", text) }).
		KindFor(schema.GroupVersionResource{Resource: "gg"})
	say("by its short name", "%s %v", expanded, err)
	api := t.dynamic.Resource(gadget).Namespace(t.namespace)
	// The endpoint may be there a moment later.
	if err := t.until("the endpoint", func() (bool, error) {
		_, err := api.List(t.context, metav1.ListOptions{})
		return err == nil, nil
	}); err != nil {
		return err
	}
	events := &log{resyncs: map[string]bool{}}
	factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(t.dynamic, 0, t.namespace, nil)
	informer := factory.ForResource(gadget).Informer()
	if _, err := informer.AddEventHandler(events.handler()); err != nil {
		return err
	}
	stop := make(chan struct{})
	defer close(stop)
	go informer.Run(stop)
	if err := t.until("the informer", func() (bool, error) { return informer.HasSynced(), nil }); err != nil {
		return err
	}
	if err := t.gadgets(api, mapper); err != nil {
		return err
	}
	if err := events.phase(t, "the informer", 6); err != nil {
		return err
	}
	return t.end(api)
}

func (t *traveller) gadgets(api dynamic.ResourceInterface, mapper *restmapper.DeferredDiscoveryRESTMapper) error {
	for _, one := range []struct{ step, text string }{
		{"create", `{apiVersion: tour.example.com/v1, kind: Gadget, metadata: {name: a}, spec: {color: red, unknown: x}, status: {phase: set}}`},
		{"wrong values", `{apiVersion: tour.example.com/v1, kind: Gadget, metadata: {name: b}, spec: {color: blue, size: 11, parts: [{name: x}, {name: x}]}}`},
		{"wrong types", `{apiVersion: tour.example.com/v1, kind: Gadget, metadata: {name: b}, spec: {size: many}}`},
		{"against the rule", `{apiVersion: tour.example.com/v1, kind: Gadget, metadata: {name: b}, spec: {color: green, size: 6}}`},
		{"without a spec", `{apiVersion: tour.example.com/v1, kind: Gadget, metadata: {name: b}}`},
		{"another kind", `{apiVersion: tour.example.com/v1, kind: Other, metadata: {name: b}, spec: {}}`},
	} {
		wanted, err := object(one.text)
		if err != nil {
			return err
		}
		made, err := api.Create(t.context, wanted, metav1.CreateOptions{FieldManager: "maker"})
		show(one.step, made, err)
	}
	wanted, err := object(`{apiVersion: tour.example.com/v1, kind: Gadget, metadata: {name: b}, spec: {unknown: x}}`)
	if err != nil {
		return err
	}
	_, err = api.Create(t.context, wanted, metav1.CreateOptions{FieldValidation: "Strict"})
	refused("strictly", err)
	patched, err := api.Patch(t.context, "a", types.MergePatchType, []byte(`{"spec":{"parts":[{"name":"one","count":1}]},"status":{"phase":"x"}}`), metav1.PatchOptions{FieldManager: "patcher"})
	show("merge patch", patched, err)
	_, err = api.Patch(t.context, "a", types.StrategicMergePatchType, []byte(`{"spec":{}}`), metav1.PatchOptions{})
	refused("strategic merge patch", err)
	if patched != nil {
		if err := unstructured.SetNestedField(patched.Object, "Ready", "status", "phase"); err != nil {
			return err
		}
		ready, err := api.UpdateStatus(t.context, patched, metav1.UpdateOptions{FieldManager: "patcher"})
		show("status", ready, err)
	}
	applied, err := object(`{apiVersion: tour.example.com/v1, kind: Gadget, metadata: {name: a}, spec: {parts: [{name: two, count: 2}]}}`)
	if err != nil {
		return err
	}
	after, err := api.Apply(t.context, "a", applied, metav1.ApplyOptions{FieldManager: "applier"})
	show("apply", after, err)
	applied, err = object(`{apiVersion: tour.example.com/v1, kind: Gadget, metadata: {name: a}, spec: {parts: [{name: one, count: 2}]}}`)
	if err != nil {
		return err
	}
	_, err = api.Apply(t.context, "a", applied, metav1.ApplyOptions{FieldManager: "other"})
	refused("conflict", err)
	scales, err := scale.NewForConfig(t.config, mapper, dynamic.LegacyAPIPathResolverFunc, scale.NewDiscoveryScaleKindResolver(t.discovery))
	if err != nil {
		return err
	}
	_, err = scales.Scales(t.namespace).Get(t.context, gadget.GroupResource(), "a", metav1.GetOptions{})
	refused("scale of none", err)
	if _, err := api.Patch(t.context, "a", types.MergePatchType, []byte(`{"spec":{"replicas":1}}`), metav1.PatchOptions{}); err != nil {
		return err
	}
	grown, err := scales.Scales(t.namespace).Get(t.context, gadget.GroupResource(), "a", metav1.GetOptions{})
	show("scale", grown, err)
	if err != nil {
		return err
	}
	grown.Spec.Replicas = 3
	grown, err = scales.Scales(t.namespace).Update(t.context, gadget.GroupResource(), grown, metav1.UpdateOptions{})
	show("scaled", grown, err)
	return nil
}

// end deletes the kind, and with it its objects.
func (t *traveller) end(api dynamic.ResourceInterface) error {
	if err := t.dynamic.Resource(definitions).Delete(t.context, "gadgets.tour.example.com", metav1.DeleteOptions{}); err != nil {
		return err
	}
	var last error
	err := t.until("the end of the kind", func() (bool, error) {
		_, last = api.List(t.context, metav1.ListOptions{})
		return last != nil && !strings.Contains(last.Error(), "TooManyRequests"), nil
	})
	if err != nil {
		return err
	}
	refused("list of no kind", last)
	return nil
}

func conditions(definition *unstructured.Unstructured) string {
	listed, _, err := unstructured.NestedSlice(definition.Object, "status", "conditions")
	if err != nil {
		return err.Error()
	}
	var conditions []string
	for _, one := range listed {
		condition, _ := one.(map[string]any)
		conditions = append(conditions, fmt.Sprintf("%v=%v", condition["type"], condition["status"]))
	}
	sort.Strings(conditions)
	return strings.Join(conditions, " ")
}
