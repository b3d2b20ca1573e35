package main

// documentTable holds the documents written by hand: those of the contract first.
func documentTable() []*wholeDocument {
	var table []*wholeDocument
	for _, input := range wholeTable {
		table = append(table, &wholeDocument{Input: input})
	}
	for _, input := range wholeRawTable {
		table = append(table, &wholeDocument{Input: input, Yaml: true}, &wholeDocument{Input: input, Yaml: true, Context: "watch"})
	}
	for _, input := range wholeHubTable {
		table = append(table,
			&wholeDocument{Input: input, Hub: true, Indent: 8, Context: "hub"},
			&wholeDocument{Input: input, Hub: true, Context: "hub"},
			&wholeDocument{Input: input, Hub: true, Yaml: true})
	}
	for _, input := range wholeObjectTable {
		for _, context := range []string{"", "watch", "namespace", "object"} {
			table = append(table, &wholeDocument{Input: input, Context: context})
		}
	}
	return table
}

var wholeTable = []string{
	`{"a":"{{ \"6\" | toInt }}","b":"{{ \"6\" }}"}`,
	`{"a":["{{ \"6\" | toInt }}"]}`,
	`{"a":[{"k":"{{ \"6\" | toInt }}"},{"k":"{{ toInt \"6\" }}"}]}`,
	`{"a":"{{ \"l1\\nl2\" }}"}`,
	`{"a":"{{ \"l1\\n\\nl2\\n\" }}"}`,
	`{"a":"{{ (dict \"a\" 1) | toJson | toLiteral }}"}`,
	`{"a":"{{ if true }} {{ 3 | toInt }} {{ else }} {{ 1 | toInt }} {{ end }}","b":"c"}`,
	`{"a":"{{ \"2020-01-01\" | toLiteral }}"}`,
	`{"a":"{{ upper \"v1\" }} \n x\n"}`,
	`{"{{ \"k\" }}":"v"}`,
	`{"a":"{{hub .x hub}}"}`,
	`{"a":"{{ $x := 1 }}","b":"{{ $x }}"}`,
	`{"b":"{{ $x := 1 }}","a":"{{ $x }}"}`,
	`{"a":"x{{ 1 | toInt }}"}`,
	`{"a":"{{ 1 | toInt }} foo","b":"c"}`,
	`{"a":"{{ 1 | toInt }}{{ 2 | toInt }}","b":"c"}`,
	`{"a":"{{ 1 | toIntegerX }}"}`,
	`{"a":"'{{ 1 | toInt }}'\n"}`,
	`{"a":"{{ 1 | toInt }}\n"}`,
	`{"a":"{{ 1 | toInt }}\n","b":"c"}`,
	`{"a":"{{ 1 | toInt }}\n\n","b":"c"}`,
	`{"a":" {{ 1 | toInt }}","b":"c"}`,
	`{"a":" {{ 1 | toInt }}\n","b":"c"}`,
	`{"a":"{{ copyConfigMapData \"testns\" \"testconfigmap\" }}"}`,
	`{"data":"{{ copySecretData \"testns\" \"testsecret\" }}"}`,
	`{"data":"{{ copySecretData \"testns\" \"testsecret\" }}\n","x":1}`,
	`{"data":"{{ copySecretData \"testns\" \"nosecret\" }}"}`,
	`{"data":"{{- copyConfigMapData \"testns\" \"testcm-enva\" -}}"}`,
	`{"data":["{{ copyConfigMapData \"testns\" \"testcm-enva\" }}"]}`,
	`{"a":"{{ \"it's\" | base64enc }}"}`,
	`{"a":"{{ 'a' }}"}`,
	`{"a":"{{ len \"it's\" }} isn't"}`,
	`{"a":"x {{ len \"it's\" }} isn't"}`,
	`{"a":"{{ \"x=''\" }}","b":"{{ printf \"n='%s'\" \"\" }}","c":"{{ printf \"%s's\" \"x\" }}","d":"{{ squote \"it's\" }}"}`,
	`{"a":"{{ $x := \"it's\" }}","b":"{{ $x }}","c":"{{ len $x }}"}`, `{"a":"{{ $x := 'a' }}{{ $x }}"}`, `{"a":"{{ $x := 'a' }}","b":"{{ \"it's\" }}"}`,
	`{"a":"{{ with \"it's\" }}{{ . }}{{ end }}"}`, `{"a":"{{ range list \"it's\" \"'\" }}{{ . }}{{ end }}"}`, `{"a":"{{ if eq \"it's\" \"it''s\" }}x{{ else }}{{ len \"it's\" }}{{ end }}"}`,
	`{"a":"{{ \"it's\" | toLiteral }}"}`, `{"a":"{{ \"'it'\" | toLiteral }}"}`, `{"a":"{{ template \"d\" \"it's\" }}","b":"{{ define \"d\" }}{{ . }}{{ end }}"}`,
	`{"a":"{{ \"'\" }} # {{ \"it's\" }}"}`, `{"a":"it's {{ \"it's\" }}: {{/* it's */}}{{ \"x\" }}"}`, `{"a":"{{ list 1 \"it's\" | toJson }}"}`, `{"{{ \"it's\" }}":"{{ \"it's\" }}"}`,
	"{\"a\":\"{{ `it's` | quote }} {{- \\\"'\\\" -}} x\"}", `{"a":"x\n{{ \"it's\" | base64enc }}"}`, `{"a":"x {{ \"it's\" | base64enc }}"}`, `{"a":"\ufdd0{{ \"it's\" }}"}`,
	`{"a":"😱 {{ upper \"v1\" }}"}`,
	`{"a":"😱 {{ upper .x }}"}`,
	`{"a":"{{ upper \"v1\" }}\tx"}`,
	`{"a":"{{ upper \"v1\" }}\r\nx"}`,
	"{\"a\":\"{{ `\\\\d` }}\\tx\"}",
	"{\"a\":\"{{ `\\\\d` }} \\n{{ \\\"x\\\" }}\"}",
	`{"a":"{{ \"x: y\" }}","b":"x {{ \"x: y\" }}"}`,
	`{"a":"x {{ \"# no\" }}","b":"{{ \"# no\" }}"}`,
	`{"a":"{{ \"it's\" }}"}`,
	"{\"a\":\"1{{ `1` }}\",\"b\":\"x{{ 1 }}\"}",
	`{"a":"x\n  {{ list 1 2 | toYaml | autoindent }}\n"}`,
	`{"a":"x\n  {{ list 1 2 | toYaml | autoindent }}"}`,
	`{"a":"{{ list 1 2 | toYaml | autoindent }}"}`,
	`{"a":"x\n{{ \"a\\nb\" | indent 2 }}"}`,
	`{"a":"x\n{{ \"a\\nb\" | indent -2 }}"}`,
	`{"a":"{{ \"a\\nb\" | autoindent }} {{ \"c\" | autoindent }}"}`,
	`{"a":"{{ \"a\\nb\" |\nautoindent }}"}`,
	`{"a":"{{ range (list 1 2) }}\n- {{ . }}\n{{- end }}\n"}`,
	`{"a":"{{ define \"d\" }}","b":"{{ fail \"in\" }}{{ end }}{{ template \"d\" }}"}`,
	`{"a":"{{ env \"HOME\" }}","b":"{{ expandenv \"x\" }}"}`,
	`{"a":"{{ protect \"x\" }}"}`,
	`{"a":"{{ lookup \"v1\" }}"}`,
	`{"a":"{{ (lookup \"v1\" \"Secret\" \"\" \"\").data.nul.x }}"}`,
	`{"a":"{{ .Foo }}"}`,
	`{"a":"{{ fromYaml \"this: {is: inception-y}\" }}"}`,
	`{"a":"{{ fromYaml \"a: b: c\" }}"}`,
	`{"a":"{{ \"a\\nb\" | toLiteral }}"}`,
	`{"a":1.0,"b":1e6,"c":1e21,"d":18446744073709551615,"e":-0.0,"f":1.5,"g":100000000000000000000,"h":0.000001}`,
	`{"a":null,"b":true,"c":"yes","d":"null","e":"~","f":"1e3","g":"0777","h":"2020-01-01","i":"1:20","j":"","k":" x","l":"x "}`,
	`{"a":"- x","b":"x: y","c":"#x","d":"x #y","e":"&a","f":"*a","g":"!x","h":"%x","i":"@x","j":"{x","k":"? x","l":":x","m":"-","n":"---","o":"'","p":"\"","q":"it's","r":"<<"}`,
	`{"a":"\n","b":"\nx","c":"x\n","d":"x\n\n","e":" x\ny","f":"x \ny","g":"x\n ","h":"x\n\ty","i":"\tx","j":"x\u0000y","k":"\u0085","l":"\u2028","m":"\ufeffx"}`,
	`{"a":{},"b":[],"c":[[]],"d":[{}],"e":[[1,2],[{"a":1,"b":2}]],"10":1,"9":2,"a-b":1,"a.b":2,"a_b":3,"ab":4,"b9":5,"b10":6,"":7}`,
	`"{{ upper \"x\" }}"`, `["{{ 1 }}"]`, `"x"`, `7`, `null`, `{}`, `[]`, `"a\nb"`, `true`,
	`{"a":"{{"}`, `{"a":"}}"}`, `{"a":"{{}}"}`, `{"a":"{{ if }}x{{ end }}"}`, `{"a":"{{ if true }}"}`, `{"a":"{{ end }}"}`,
	`{"a":"{{/* c */}}"}`, `{"a":"{{/* it's */}}"}`, `{"a":"{{- /* c */ -}}"}`, `{"a":"{{ /* c */ }}"}`, `{"a":"{{/* c"}`,
	`{"a":"{{ add 1\n \"a"}`, `{"a":"x\n{{ add 1\n \"a\" }}\ny"}`,
}

var wholeRawTable = []string{
	"", "{{/* c */}}", "{{ .Foo }}", "{{ .Foo.Bar }}", "a: {{ 1 }}{{ `1` }}", "a: 1\n---\nb: 2", "a: 1\n...\nb: 2", "a: 0777\nb: yes\nc: 1e6",
	"a: {{ print \"x: y\" }}", "a: *b{{ \"\" }}", "k: {{ 1 | toInt }}\nk2: v", "k: {{ 1 | toInt }}  \nk2: v", "k: {{ 1 | toInt }}\n{{- if true }}\nk2: v\n{{- end }}",
	"k: {{ 1 | toInt }}\n", "k: {{ 1 | toInt }} # note\nb: 2\n", "k: \"{{ 6 | toInt }}\"\n", "k: '{{ 6 | toInt }}'\nb: c\n",
	"k: |\n  {{ 6 | toInt }}\nb: c\n", "k: >-\n  {{ 6 | toInt }}\nb: c\n", "k: |+\n  {{ 6 | toInt }}\nb: c\n", "k: >2\n  {{ 6 | toInt }}\nb: c\n",
	"k:\n  {{ 6 | toInt }}\nb: c\n", "k:\n  {{ copyConfigMapData \"testns\" \"testconfigmap\" }}\nb: c\n", "- {{ 6 | toInt }}\n- 'x'\n",
	"a: |\n    {{ \"x\\ny\" | autoindent }}\n", "a: '{{ \"hello\\nworld\\n\" | autoindent }}'\n", "a:\n  {{ list 0 1 2 | toYaml | autoindent }}\n",
	"a: {{ x }}", "a: {{ `{b: 1}` }}", "{{ `a` }}: {{ `b` }}", "? {{ `a` }}\n: b\n", "{a: {b: c}: d}", "{{ `{{ x }}` }}", "a: {{ `{{ x }}` }}",
	"1: a", "true: b", "null: c", "a: {1: x}", "a: .inf", "a: 2020-01-01\nb: 2020-01-01 10:00:00\nc: 2020-01-01T10:00:00+02:00",
	"a: 1\na: 2", "a: 1\n b: 2", "a:\n\t- b", "a: [1, 2", "a: 'x", "a: \"\\q\"", "a: !!bool yes", "a: !!int '3'", "a: &x 1\nb: *x", "a: &x {k: v}\nb:\n  <<: *x\n  z: 1\n",
	"a: &a [*a]", "# only\n", "~", "%YAML 1.2\n---\na: 1\n", "a: `x`", "a: @x", "\ta: 1", "a: b\x01c", "{{ \"\\x01\" }}", "{{ \"\\xff\" }}", "a: {{ `x` | indent 2 }}\n  b: c",
	"{{ range list 1 2 }}- {{ . }}\n{{ end }}", "{{- range $i, $e := list \"a\" \"b\" }}\n- n: {{ $i }}\n  e: {{ $e }}\n{{- end }}\n",
	"{{ range (lookup \"v1\" \"ConfigMap\" \"testns\" \"\").items }}\n- {{ .metadata.name }}\n{{ end }}", "{{ range list }}- 1\n{{ end }}",
	"{{ eq 1 }}", "{{ upper 5 }}", "{{ upper .x }}", "{{ template \"zz\" }}", "{{ define \"d\" }}\n{{ fail \"in\" }}{{ end }}x\n{{ template \"d\" }}", "{{ if true }}", "{{ 1 | 2 }}", "{{ foo }}",
	"a: {{ print 1e6 }}\nb: {{ 1e20 }}\nc: {{ 1.0 }}\n", "a: {{ nil | quote }}\n", "a: {{ (dict \"a\" nil).a.b }}", "a: '{{ \"it's\" }}'", "a: '{{ `it''s` }}'", "a: {{ fromJson \"{\\\"a\\\":1000000}\" | toYaml | autoindent }}",
	"a: '{{ \"\ufdd0\" | toLiteral }}'\nb: \ufdd0", "a: {{ indent -1 \"x\" }}", "a: {{ getNodesWithExactRoles \"infra\" | toJson }}", "a: {{ hasNodesWithExactRoles \"storage\" | toBool }}", "a: {{ getNodesWithExactRoles }}",
	"a: {{ getNodesWithExactRoles \"\\tworker\" }}", "a: {{ getNodesWithExactRoles \" worker\" }}", "a: {{ len (getNodesWithExactRoles \"infra \").items }}", "a: {{ len (getNodesWithExactRoles \"worker \").items }}", "a: {{ len (getNodesWithExactRoles \" \" \"\\t\" \"infra\").items }}", "a: {{ getNodesWithExactRoles \"\\n\" }}",
	"a: {{ (lookup \"v1\" \"ConfigMap\" \"\" \"shared\").data.from }}", "a: {{ (lookup \"v1\" \"ConfigMap\" \"zeta\" \"shared\").data.from }}", "a: {{ (lookup \"v1\" \"ConfigMap\" \"beta\" \"shared\").data.from }}", "a: {{ (lookup \"v1\" \"Secret\" \"\" \"testsecret\").data.secretkey1 }}", "a: {{ (lookup \"v1\" \"Node\" \"zeta\" \"node-both\").metadata.name }}",
}

var wholeHubTable = []string{
	`{"a":"{{ .untouched }}"}`, `{"a":"{{hub \"x\" | base64enc hub}}"}`, "{\"a\":\"{{ \\\"{{hub `x` | base64enc hub}}\\\" }}\"}",
	`{"a":"|\n  {{hub \"x\\ny\" | indent 2 hub}}\n"}`, `{"a":"x:\n  {{hub \"x\\ny\" | autoindent hub}}\n"}`, `{"a":"{{hub \"x\\ny\" | autoindent hub}}"}`,
	`{"a":"{{hub .ManagedClusterName hub}}","b":"{{hub .ManagedClusterLabels.region hub}}","c":"{{hub .PolicyMetadata.name hub}}"}`,
	`{"a":"{{hub hasKey .ManagedClusterLabels \"region\" hub}}"}`, `{"a":"{{hub .PolicyMetadata.labels hub}}"}`, `{"a":"{{hub .Nope hub}}"}`, `{"a":"{{hub .PolicyMetadata.labels.x hub}}"}`,
	`{"a":"{{hub \"3\" | toInt hub}}","b":"{{ \"3\" | toInt }}"}`, `{"a":"{{hub if true hub}}","b":"x"}`, `{"a":"{{hub end hub}}"}`, `{"a":"{{hub else hub}}"}`, `{"a":"{{hub .x.y | foo hub}}"}`,
	`{"a":"{{hub template \"q\" .hub}}"}`, `{"a":"{{hub $xhub}}"}`, `{"a":"{{hub/* c */hub}}"}`, `{"a":"{{hub- \"c\" -hub}} z"}`, `{"a":"{{hub index .ManagedClusterLabels \"env\" hub}}{{ \"it's\" }}"}`,
	`{"a":"{{hub \"it's\" hub}} {{ \"it's\" }}"}`, `{"a":"{{hub upper \"x\" hub}}\t{{ \"q\" }}"}`, `{"a":"{{hub copyConfigMapData \"testns\" \"testcm-enva\" hub}}"}`,
	`{"a":"{{hub range $k, $v := .ManagedClusterLabels hub}}{{hub $k hub}}={{hub $v hub}},{{hub end hub}}"}`, `{"a":"{{hub break hub}}"}`,
}

var wholeObjectTable = []string{
	`{"a":"{{ .ObjectName }}","b":"{{ .ObjectNamespace }}"}`, `{"a":"{{ .Object.metadata.name }}"}`, `{"a":"{{ .Object.spec.replicas | toInt }}"}`, `{"a":"{{ .Object.spec.nul.x }}"}`, `{"a":"{{ .Object.nope.x }}"}`,
	`{"a":"{{ .Object.spec.ratio }} {{ .Object.spec.big }}","b":"{{ .Object.spec.big | toInt }}"}`, `{"data":"{{ .Object.data | toJson | toLiteral }}"}`, `{"data":"{{ .Object.data | toYaml | autoindent }}"}`,
	`{"a":"{{ .Object.data.quote }}"}`, `{"a":"x {{ .Object.data.colon }}"}`, `{"a":"x\n{{ .Object.data.text }}"}`, `{"a":"{{ index .Object.spec.items 1 \"n\" }}"}`, `{"a":"{{ (index .Object.spec.items 0).n }}"}`,
	`{"a":"{{ range .Object.spec.items }}{{ .name }},{{ end }}"}`, `{"a":"{{ $_ := set .Object.data \"text\" \"z\" }}{{ .Object.data.text }}"}`, `{"a":"{{ . | toJson }}"}`, `{"a":"{{ . }}"}`, `{"a":"{{ .ObjectName.x }}"}`, `{"a":"{{ index .Object.data \"zz\" }}"}`,
	`{"a":"{{ eq .Object.spec.replicas 3 }}{{ has 3 (list .Object.spec.replicas) }}{{ typeOf .Object.spec.replicas }}"}`, `{"a":"{{ until .Object.spec.replicas }}"}`, `{"a":"{{ $.ObjectName }}"}`, `{"a":"{{ with .Object }}{{ .metadata.labels.app }}{{ end }}"}`,
}
