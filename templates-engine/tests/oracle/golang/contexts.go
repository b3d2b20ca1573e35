package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"text/template"
)

func init() {
	programs["contexts"] = contexts
}

// contextCase is one template on one of the contexts, with what Go made of it: output or error.
type contextCase struct {
	Template string  `json:"t"`
	Context  string  `json:"c"`
	Output   *string `json:"o,omitempty"`
	Error    *string `json:"e,omitempty"`
}

// objectContext is what a ConfigurationPolicy's template gets; without an object its map is nil.
type objectContext struct {
	Object          map[string]any
	ObjectNamespace string
	ObjectName      string
	Anything        any
}

// contextNamed holds what `.` is; the Rust side builds the same.
func contextNamed(name string) any {
	switch name {
	case "labels":
		return templateContext{
			"cluster1",
			map[string]string{"region": "eu", "env": "prod", "empty": "", "n": "5"},
			map[string]any{
				"name": "p", "namespace": "policies",
				"labels":      map[string]string{"team": "a"},
				"annotations": map[string]string{"note": "b"},
			},
		}
	case "none":
		return templateContext{
			"cluster1", nil,
			map[string]any{
				"name": "p", "namespace": "policies",
				"labels": map[string]string(nil), "annotations": map[string]string(nil),
			},
		}
	default:
		return objectContext{nil, "ns1", "web", nil}
	}
}

// mapTemplates are templates on a map of strings, which stands in them as MAP.
var mapTemplates = []string{
	`{{ index MAP "nope" }}`, `{{ index MAP "region" }}`, `{{ eq (index MAP "nope") "" }}`, `{{ upper (index MAP "nope") }}`,
	`{{ index MAP "nope" | default "d" }}`, `{{ index MAP "nope" | quote }}`, `{{ if index MAP "nope" }}a{{ else }}b{{ end }}`,
	`{{ index MAP "nope" "x" }}`, `{{ index MAP 1 }}`, `{{ index MAP nil }}`, `{{ index MAP }}`, `{{ len (index MAP "nope") }}`,
	`{{ printf "%v|%s|%T|%#v" MAP MAP MAP MAP }}`, `{{ MAP }}`, `{{ print MAP }}`, `{{ len MAP }}`, `{{ not MAP }}`, `{{ eq MAP nil }}`, `{{ eq MAP MAP }}`,
	`{{ and MAP 1 }}`, `{{ or MAP 1 }}`, `{{ if MAP }}a{{ else }}b{{ end }}`, `{{ with MAP }}{{ . }}{{ else }}b{{ end }}`,
	`{{ range $k, $v := MAP }}{{ $k }}={{ $v | upper }};{{ end }}`, `{{ range MAP }}{{ . }}{{ else }}none{{ end }}`, `{{ range $k, $v := MAP }}{{ $v.x }}{{ end }}`,
	`{{ MAP.region }}`, `{{ MAP.nope }}`, `{{ MAP.nope | default "d" }}`, `{{ eq MAP.nope "" }}`, `{{ upper MAP.nope }}`, `{{ MAP.region.x }}`, `{{ MAP.nope.x }}`,
	`{{ toJson MAP }}`, `{{ toRawJson MAP }}`, `{{ toPrettyJson MAP }}`, `{{ mustToJson MAP }}`, `{{ toYaml MAP }}`, `{{ dict "m" MAP | toJson }}`, `{{ list MAP | toJson }}`,
	`{{ hasKey MAP "region" }}`, `{{ get MAP "region" }}`, `{{ keys MAP }}`, `{{ values MAP }}`, `{{ pick MAP "region" }}`, `{{ omit MAP "region" }}`,
	`{{ pluck "region" MAP }}`, `{{ dig "region" "d" MAP }}`, `{{ dig "nope" "d" MAP }}`, `{{ set MAP "a" "b" }}`, `{{ unset MAP "region" }}`,
	`{{ merge MAP (dict "a" "b") }}`, `{{ merge (dict "a" "b") MAP }}`, `{{ mergeOverwrite (dict) MAP }}`,
	`{{ typeOf MAP }} {{ kindOf MAP }} {{ typeIs "map[string]string" MAP }} {{ kindIs "map" MAP }}`, `{{ typeOf (index MAP "nope") }}`,
	`{{ empty MAP }}`, `{{ default "d" MAP }}`, `{{ coalesce MAP "d" }}`, `{{ ternary MAP 1 true }}`, `{{ deepEqual MAP MAP }}`, `{{ deepCopy MAP }}`, `{{ deepCopy MAP | typeOf }}`,
	`{{ quote MAP }}`, `{{ squote MAP }}`, `{{ cat MAP "x" }}`, `{{ join "," MAP }}`, `{{ toString MAP }}`, `{{ toStrings MAP }}`, `{{ has "a" MAP }}`, `{{ first MAP }}`, `{{ compact MAP }}`,
	`{{ upper MAP }}`, `{{ toInt MAP }}`, `{{ index MAP "n" | toInt }}`, `{{ atoi (index MAP "nope") }}`, `{{ b64enc (index MAP "nope") }}`, `{{ all MAP 1 }}`, `{{ any MAP }}`,
	`{{ $m := MAP }}{{ index $m "nope" }}{{ hasKey $m "region" }}`, `{{ $v := index MAP "nope" }}{{ $v }}{{ eq $v "" }}`, `{{ fromJson (toJson MAP) }}`, `{{ hasKey (fromJson (toJson MAP)) "region" }}`,
	`{{ index (dict "m" MAP) "m" "nope" }}`, `{{ (dict "m" MAP).m.nope }}`, `{{ (dict "m" MAP).m.region }}`, `{{ hasKey (dict "m" MAP).m "region" }}`, `{{ upper (index (dict "m" MAP).m "nope") }}`,
}

var metadataTemplates = []string{
	`{{ dig "labels" "team" "d" .PolicyMetadata }}`, `{{ dig "labels" "d" .PolicyMetadata }}`, `{{ dig "nope" "x" "d" .PolicyMetadata }}`, `{{ get .PolicyMetadata "labels" }}`, `{{ hasKey .PolicyMetadata "labels" }}`,
	`{{ toJson .PolicyMetadata }}`, `{{ toYaml .PolicyMetadata }}`, `{{ .PolicyMetadata }}`, `{{ printf "%#v" .PolicyMetadata.labels }}`, `{{ range $k, $v := .PolicyMetadata }}{{ $k }} {{ typeOf $v }};{{ end }}`,
	`{{ index .PolicyMetadata "labels" "nope" }}`, `{{ index .PolicyMetadata "nope" "x" }}`, `{{ .PolicyMetadata.nope }}`, `{{ values .PolicyMetadata | len }}`, `{{ hasKey (get .PolicyMetadata "labels") "team" }}`,
	`{{ merge (dict) .PolicyMetadata | toJson }}`, `{{ deepCopy .PolicyMetadata | toJson }}`, `{{ pick .PolicyMetadata "labels" | toJson }}`,
}

var objectTemplates = []string{
	`{{ .Object }}`, `{{ toJson .Object }}`, `{{ .Object.metadata }}`, `{{ .Object.metadata.name }}`, `{{ index .Object "x" }}`, `{{ hasKey .Object "x" }}`, `{{ get .Object "x" }}`, `{{ dig "a" "b" "d" .Object }}`, `{{ len .Object }}`,
	`{{ keys .Object }}`, `{{ set .Object "a" 1 }}`, `{{ if .Object }}a{{ else }}b{{ end }}`, `{{ eq .Object nil }}`, `{{ default "d" .Object }}`, `{{ toYaml .Object }}`, `{{ printf "%#v" .Object }}`, `{{ merge .Object (dict "a" 1) }}`, `{{ typeOf .Object }}`,
	`{{ empty .Object }}`, `{{ dict "o" .Object | toJson }}`, `{{ deepCopy .Object }}`, `{{ .ObjectName }} {{ .ObjectNamespace }}`,
	`{{ .Anything }}`, `a{{ .Anything }}b`, `{{ print .Anything }}`, `{{ .Anything | default "d" }}`, `{{ .Anything.x }}`, `{{ if .Anything }}a{{ else }}b{{ end }}`, `{{ with .Anything }}a{{ else }}b{{ end }}`, `{{ $x := .Anything }}{{ $x }}`,
	`{{ toJson .Anything }}`, `{{ eq .Anything nil }}`, `{{ eq .Anything "x" }}`, `{{ upper .Anything }}`, `{{ len .Anything }}`, `{{ index .Anything "x" }}`, `{{ range .Anything }}a{{ else }}b{{ end }}`, `{{ typeOf .Anything }}`, `{{ printf "%v %T" .Anything .Anything }}`,
	`{{ list .Anything | toJson }}`, `{{ dict "a" .Anything | toJson }}`, `{{ not .Anything }}`, `{{ (.Anything).x }}`, `{{ $x := .Anything }}{{ $x.y }}`, `{{ .Anything | print }}`, `{{ template "t" .Anything }}{{ define "t" }}{{ . }}{{ end }}`, `{{ coalesce .Anything "d" }}`,
}

func contexts() error {
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	write := func(text, context string) error {
		result := contextCase{Template: text, Context: context}
		rendered, err := renderOn(text, contextNamed(context))
		if err != nil {
			message := err.Error()
			result.Error = &message
		} else {
			result.Output = &rendered
		}
		return encoder.Encode(result)
	}
	for _, context := range []string{"labels", "none"} {
		for _, place := range []string{".ManagedClusterLabels", ".PolicyMetadata.labels"} {
			for _, text := range mapTemplates {
				if err := write(string(bytes.ReplaceAll([]byte(text), []byte("MAP"), []byte(place))), context); err != nil {
					return err
				}
			}
		}
		for _, text := range metadataTemplates {
			if err := write(text, context); err != nil {
				return err
			}
		}
	}
	for _, text := range objectTemplates {
		if err := write(text, "object"); err != nil {
			return err
		}
	}
	return nil
}

func renderOn(text string, data any) (string, error) {
	t, err := template.New("tmpl").Funcs(documentFunctions(0)).Parse(text)
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	err = t.Execute(&out, data)
	return out.String(), err
}
