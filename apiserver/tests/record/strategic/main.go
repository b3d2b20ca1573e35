// Answers strategic merge patches: reads lines {"type","current","patch"}, writes them with "result" or "error".
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

type line struct {
	Type    string          `json:"type"`
	Current json.RawMessage `json:"current"`
	Patch   json.RawMessage `json:"patch"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   string          `json:"error,omitempty"`
}

func main() {
	types := map[string]any{
		"io.k8s.api.core.v1.Pod": corev1.Pod{}, "io.k8s.api.core.v1.Service": corev1.Service{},
		"io.k8s.api.core.v1.ConfigMap": corev1.ConfigMap{}, "io.k8s.api.apps.v1.Deployment": appsv1.Deployment{},
	}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var l line
		if err := json.Unmarshal(in.Bytes(), &l); err != nil {
			panic(err)
		}
		result, err := strategicpatch.StrategicMergePatch(l.Current, l.Patch, types[l.Type])
		if err != nil {
			l.Error = err.Error()
		} else {
			l.Result = result
		}
		out, _ := json.Marshal(l)
		fmt.Println(string(out))
	}
}
