package main

import (
	"encoding/json"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	v1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// versionedCRD is a CRD in the form that the API has.
func versionedCRD(crd *apiextensions.CustomResourceDefinition) (any, error) {
	versioned := &v1.CustomResourceDefinition{}
	if err := v1.Convert_apiextensions_CustomResourceDefinition_To_v1_CustomResourceDefinition(crd, versioned, nil); err != nil {
		return nil, err
	}
	text, err := json.Marshal(versioned)
	if err != nil {
		return nil, err
	}
	var plain map[string]any
	if err := json.Unmarshal(text, &plain); err != nil {
		return nil, err
	}
	delete(plain, "status")
	return plain, nil
}
