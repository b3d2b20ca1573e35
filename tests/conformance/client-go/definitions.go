package main

import (
	"fmt"

	apiextv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiext "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// protobufDefinitions makes a CustomResourceDefinition in Protobuf, as programs with a typed client do, and reads it as JSON.
func protobufDefinitions(t *traveller) error {
	typed, err := apiext.NewForConfig(t.inProtobuf())
	if err != nil {
		return err
	}
	api := typed.ApiextensionsV1().CustomResourceDefinitions()
	yes, least, most, long := true, 0.5, 9.0, int64(12)
	text := apiextv1.JSONSchemaProps{Type: "string", Default: &apiextv1.JSON{Raw: []byte(`"a"`)}, MaxLength: &long,
		Enum: []apiextv1.JSON{{Raw: []byte(`"a"`)}, {Raw: []byte(`"b"`)}}}
	number := apiextv1.JSONSchemaProps{Type: "number", Minimum: &least, Maximum: &most}
	list := apiextv1.JSONSchemaProps{Type: "array", Items: &apiextv1.JSONSchemaPropsOrArray{Schema: &number},
		XListType: pointer("set")}
	properties := map[string]apiextv1.JSONSchemaProps{
		"text": text, "list": list,
		"open":   {Type: "object", XPreserveUnknownFields: &yes},
		"map":    {Type: "object", AdditionalProperties: &apiextv1.JSONSchemaPropsOrBool{Allows: true, Schema: &text}},
		"any":    {Type: "object", AdditionalProperties: &apiextv1.JSONSchemaPropsOrBool{Allows: true}},
		"either": {XIntOrString: true, AnyOf: []apiextv1.JSONSchemaProps{{Type: "integer"}, {Type: "string"}}},
	}
	group := t.namespace + ".example.com"
	definition := &apiextv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "parcels." + group},
		Spec: apiextv1.CustomResourceDefinitionSpec{
			Group: group,
			Scope: apiextv1.NamespaceScoped,
			Names: apiextv1.CustomResourceDefinitionNames{Plural: "parcels", Kind: "Parcel", ShortNames: []string{"pc"}},
			Versions: []apiextv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Subresources: &apiextv1.CustomResourceSubresources{Status: &apiextv1.CustomResourceSubresourceStatus{}},
				AdditionalPrinterColumns: []apiextv1.CustomResourceColumnDefinition{
					{Name: "Text", Type: "string", JSONPath: ".spec.text", Priority: 1}},
				Schema: &apiextv1.CustomResourceValidation{OpenAPIV3Schema: &apiextv1.JSONSchemaProps{
					Type: "object",
					Properties: map[string]apiextv1.JSONSchemaProps{"spec": {Type: "object", Properties: properties,
						Required:     []string{"text"},
						XValidations: apiextv1.ValidationRules{{Rule: "self.text != 'c'", Message: "not c"}}}},
				}},
			}},
		},
	}
	made, err := api.Create(t.context, definition, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	defer func() { _ = api.Delete(t.context, definition.Name, metav1.DeleteOptions{}) }()
	show("create", made.Spec, nil)
	read, err := t.dynamic.Resource(definitions).Get(t.context, definition.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	show("read", read.Object["spec"], nil)
	// Its status changes until it is served.
	err = t.until("established", func() (bool, error) {
		made, err = api.Get(t.context, definition.Name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		for _, condition := range made.Status.Conditions {
			if condition.Type == apiextv1.Established && condition.Status == apiextv1.ConditionTrue {
				return true, nil
			}
		}
		return false, nil
	})
	if err != nil {
		return err
	}
	made.Labels = map[string]string{"a": "b"}
	made.Spec.Names.Categories = []string{"all"}
	changed, err := api.Update(t.context, made, metav1.UpdateOptions{})
	if err != nil {
		return err
	}
	say("update", "%v %v, generation %d", changed.Labels, changed.Spec.Names.Categories, changed.Generation)
	definition.Spec.Versions[0].Storage = false
	definition.Name = "other." + group
	_, err = api.Create(t.context, definition, metav1.CreateOptions{})
	refused("create an invalid one", err)
	if err := api.Delete(t.context, "parcels."+group, metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("deleting it: %w", err)
	}
	say("delete", "done")
	return nil
}

func pointer[T any](value T) *T {
	return &value
}
