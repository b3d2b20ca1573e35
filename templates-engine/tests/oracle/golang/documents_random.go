package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand"
	"regexp"
	"slices"
	"strings"
)

// randomDocuments writes seeded documents: JSON ones, raw YAML ones, both with either delimiters.
func randomDocuments(seed int64, count int, write func(*wholeDocument) error) error {
	g := &documentGenerator{generator: &generator{Rand: rand.New(rand.NewSource(seed))}}
	for written := 0; written < count; {
		d := g.whole()
		if err := d.resolve(); err != nil {
			return err
		}
		// Most random documents fail at the first mistake; what they fail of repeats itself.
		if d.Error != nil && g.Intn(100) < g.spare(d) {
			continue
		}
		if len(d.Input) > 1100 || slices.Contains(d.Edges, 4) && emojiInside.MatchString(d.Input) {
			continue
		}
		written++
		if err := write(d); err != nil {
			return err
		}
	}
	return nil
}

// emojiInside finds actions with characters that double quotes change and that no guard can stand for.
var emojiInside = regexp.MustCompile(`\{\{[^}]*😱`)

type documentGenerator struct {
	*generator
	context string
	// wrong is how many of a hundred actions have a mistake in them.
	wrong int
}

// spare is how many of a hundred failing documents are left out.
func (g *documentGenerator) spare(d *wholeDocument) int {
	switch d.class() {
	case "not parsed":
		return 30
	case "not executed":
		return 40
	default:
		return 55
	}
}

func (g *documentGenerator) whole() *wholeDocument {
	d := &wholeDocument{Context: g.pick("", "", "object", "namespace", "watch")}
	d.Hub = g.Intn(4) == 0
	if d.Hub {
		d.Context = g.pick("hub", "hub", "hub", "")
		d.Indent = 8 * g.Intn(2)
	}
	g.context = d.Context
	g.wrong = []int{0, 0, 0, 4, 25}[g.Intn(5)]
	d.Yaml = g.Intn(3) == 0
	if d.Yaml {
		d.Input = g.raw()
	} else {
		d.Input = g.definition(d.Hub)
	}
	if d.Yaml && g.Intn(12) == 0 {
		d.Input = g.mutated(d.Input)
	}
	if d.Hub && d.Yaml {
		d.Input = asHub.Replace(d.Input)
	}
	return d
}

var asHub = strings.NewReplacer("{{- ", "{{hub- ", " -}}", " -hub}}", "{{", "{{hub", "}}", "hub}}")

// definition is an object definition as JSON.
func (g *documentGenerator) definition(hub bool) string {
	object := map[string]any{}
	if g.Intn(3) > 0 {
		object["apiVersion"] = "v1"
		object["kind"] = g.pick("ConfigMap", "Secret", "Pod", "Namespace")
		object["metadata"] = map[string]any{"name": g.short()}
	}
	switch g.Intn(6) {
	case 0:
		object["data"] = g.pick(`{{ copyConfigMapData "testns" "testconfigmap" }}`, `{{ copySecretData "testns" "testsecret" }}`,
			`{{- copyConfigMapData "testns" "testcm-enva" }}`, `{{ copyConfigMapData "testns" "`+g.pick("none", "testcm-envb")+`" }}`)
	case 1:
		object[g.pick("spec", "data")] = g.text()
	default:
		object[g.pick("spec", "data")] = g.mapping(2)
	}
	if g.Intn(5) == 0 {
		object[g.key()] = g.value(1)
	}
	var value any = object
	if hub {
		value = hubbed(value)
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(g.Intn(4) == 0)
	if g.Intn(12) == 0 {
		encoder.SetIndent("", "  ")
	}
	if err := encoder.Encode(value); err != nil {
		panic(err)
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// hubbed is a value with hub delimiters.
func hubbed(value any) any {
	switch value := value.(type) {
	case map[string]any:
		result := map[string]any{}
		for key, item := range value {
			result[asHub.Replace(key)] = hubbed(item)
		}
		return result
	case []any:
		result := make([]any, len(value))
		for index, item := range value {
			result[index] = hubbed(item)
		}
		return result
	case string:
		return asHub.Replace(value)
	default:
		return value
	}
}

func (g *documentGenerator) key() string {
	switch g.Intn(12) {
	case 0:
		return g.act(`"k1"`)
	case 1:
		return g.pick("", "a b", "a: b", "10", "9", "true", "yes", "~", "a.b/c", "it's", "x#y", "#x", "- a", "é", "1.5", "a\nb", "<<", "é😱", "2020-01-01", "\"q\"", "{a}", "*", "&x", "!t", "null", "k-"+strings.Repeat("long", 33))
	default:
		return g.pick("name", "value", "a", "b", "c", "config.yaml", "replicas", "enabled", "key1", "key10", "key9", "B", "x-y", "x_y", "list")
	}
}

func (g *documentGenerator) mapping(depth int) map[string]any {
	result := map[string]any{}
	for range 1 + g.Intn(4) {
		result[g.key()] = g.value(depth)
	}
	return result
}

func (g *documentGenerator) value(depth int) any {
	switch g.Intn(14) {
	case 0:
		return []any{true, false, nil, 0, 7, -3, 1.5, 1e6, 1e21, 1e-7, uint64(1) << 63, 12345678}[g.Intn(12)]
	case 1:
		return []any{map[string]any{}, []any{}}[g.Intn(2)]
	case 2, 3:
		if depth > 0 {
			return g.mapping(depth - 1)
		}
	case 4, 5:
		if depth > 0 {
			var list []any
			for range 1 + g.Intn(3) {
				list = append(list, g.value(depth-1))
			}
			return list
		}
	case 6:
		return g.act(g.pick(`"6"`, `3`, `"x"`, `1.9`, `"010"`, `true`, `fromConfigMap "testns" "testconfigmap" "n"`, `"1e3"`) + " | " + g.pick("toInt", "toInt", "toInt | toBool"))
	case 7:
		return g.act(g.pick(`"true"`, `"yes"`, `"F"`, `eq 1 1 | toString`, `lookupClusterClaim "env"`) + " | toBool")
	case 8:
		return g.act(g.literal() + " | toLiteral")
	}
	return g.text()
}

func (g *documentGenerator) literal() string {
	return g.pick(`"[1, 2]"`, `"{a: 1, b: [x]}"`, `dict "a" 1 "b" (list "x" nil) | toJson`, `"2020-01-01"`, `"0777"`, `"~"`, `""`, `"x: y"`, `"- a"`, `"*a"`, `"'q'"`,
		`fromConfigMap "testns" "testconfigmap" "ingressSources"`, `(lookup "v1" "ConfigMap" "testns" "" "env=a").items | mustToRawJson`, `list 1 2.5 "<x>" | toJson`, `"yes"`, `"1_000"`, `"!!str 5"`, `"|"`, `"a\nb"`, `"# c"`, `"!x y"`)
}

func (g *documentGenerator) short() string {
	return g.pick("web", "my-name", "{{ .ObjectName }}", "x-"+g.action(g.expression()), "yes", "10", "")
}

// act is an action around something of one's own.
func (g *documentGenerator) act(inside string) string {
	return g.pick("{{ ", "{{ ", "{{ ", "{{- ") + inside + g.pick(" }}", " }}", " }}", " -}}")
}

func (g *documentGenerator) words() string {
	return g.pick("text", "a b", "x: y", "x:y", "# c", " #c", "it's", `say "hi"`, "- x", "[a]", "{b}", "&a", "*a", "!t", "100%", "@x", "yes", "null", "1", "1.5", "é", "  two  spaces", "a,b", "?", "|", ">", "key:", "\\d+\\.", "'q'", "\"q\"", "a / b", "1:20:30", "0x1F", "=", "~")
}

func (g *documentGenerator) text() string {
	switch g.Intn(16) {
	case 0, 1:
		return g.words()
	case 2, 3, 4:
		return g.act(g.expression())
	case 5, 6:
		return g.words() + g.pick(" ", "", "-", ": ") + g.act(g.expression())
	case 7:
		return g.act(g.expression()) + g.pick(" ", "", "-", " # ", ": ") + g.words()
	case 8:
		return g.words() + " " + g.act(g.expression()) + " " + g.act(g.expression()) + " " + g.words()
	case 9:
		return g.condition(g.words(), g.act(g.expression()))
	case 10:
		return g.act("range "+g.pick("list 1 2", `list "a" "b"`, "until 3", "$i, $e := list 5 6", `$k, $v := dict "a" 1 "b" 2`, "list", `(lookup "v1" "ConfigMap" "testns" "").items`)) +
			g.pick("{{ . }},", "x", "- {{ . }} ", "{{ .metadata.name }} ") + "{{ end }}"
	case 11:
		return g.special()
	default:
		return g.block()
	}
}

// special falls to double quotes.
func (g *documentGenerator) special() string {
	return g.pick("😱 ", "tab\t", "cr\r\n", "end \n", "nul\x00", "\u2028", "\ufeff", "line \nnext ") + g.pick("", g.act(g.expression())+g.words(), g.act(`upper "v"`), g.act("1"), "{{ .x"+" }}", g.act("`a\\tb`"))
}

func (g *documentGenerator) condition(yes, no string) string {
	return g.act("if "+g.pick("true", "false", "eq 1 1", `lookup "v1" "ConfigMap" "testns" "none"`, `eq (fromClusterClaim "env") "dev"`, "empty .", "and true 0")) +
		yes + g.pick("{{ end }}", "{{ else }}"+no+"{{ end }}", "{{- else -}} "+no+" {{- end }}", "{{ else if true }}"+no+"{{ end }}")
}

// block is several lines, most often YAML in YAML.
func (g *documentGenerator) block() string {
	var text strings.Builder
	for range 1 + g.Intn(4) {
		pad := strings.Repeat(" ", g.Intn(3)*2)
		switch g.Intn(10) {
		case 0:
			text.WriteString(pad + g.act(g.nested()+" | autoindent"))
		case 1:
			text.WriteString(pad + g.act(g.nested()+fmt.Sprintf(" | %s %d", g.pick("indent", "nindent", "indent"), len(pad)+g.Intn(2)*2)))
		case 2:
			text.WriteString("{{- range " + g.pick("list 1 2", "until 2", `$i, $v := list "a" "b"`) + " }}\n" + pad + "- {{ . }}\n{{- end }}")
		case 3:
			text.WriteString(g.act("if "+g.pick("true", "false", "eq 1 1")) + "\n" + pad + "a: " + g.act(g.expression()) + "\n{{ end }}")
		case 4:
			text.WriteString(pad + "$v: " + g.act("$v := "+g.expression()) + g.act("$v"))
		case 5:
			text.WriteString(pad + "n: " + g.pick("'", "", "\"") + g.act(g.pick(`"3" | toInt`, `"t" | toBool`, `"[a]" | toLiteral`)) + g.pick("'", "", "\""))
		case 6:
			text.WriteString("")
		case 7:
			text.WriteString(pad + g.words())
		default:
			text.WriteString(pad + g.pick("key: ", "- ", "", "# ") + g.act(g.expression()))
		}
		text.WriteString("\n")
	}
	switch g.Intn(4) {
	case 0:
		return strings.TrimSuffix(text.String(), "\n")
	case 1:
		return text.String() + g.pick("", "\n", "end")
	default:
		return text.String()
	}
}

func (g *documentGenerator) nested() string {
	return g.pick(`list 1 2 | toYaml`, `dict "a" 1 "b" (list "x: y" nil) | toYAML`, `"a\nb\n"`, `"l1\n\n l2"`, `(lookup "v1" "ConfigMap" "testns" "testconfigmap").data | toYaml`,
		`dict "m" (dict "t" "l1\nl2\n") | toYaml`, `list | toYaml`, `dict "z" 1.5 "y" "yes" | toYaml`, `"plain"`, `"a: 1\nb:\n  - c" | fromYaml | toYaml`)
}

// expression is what an action prints.
func (g *documentGenerator) expression() string {
	if g.Intn(100) < g.wrong {
		return g.mistake()
	}
	if g.Intn(4) == 0 {
		switch g.context {
		case "object":
			return g.pick(".ObjectName", ".ObjectNamespace", ".Object.metadata.name", ".Object.spec.replicas", ".Object.spec.ratio", ".Object.spec.big", ".Object.data | toJson", ".Object.nope.x",
				".Object.data.quote", ".Object.data.text | indent 2", "index .Object.spec.items 0", "(index .Object.spec.items 1).n", ".Object.data.text", ".Object.data.colon")
		case "namespace":
			return ".ObjectNamespace"
		case "watch":
			return g.pick(".x", ".x.y", ". | quote", "$.a")
		case "hub":
			return g.pick(".ManagedClusterName", ".ManagedClusterLabels.region", ".PolicyMetadata.name", "index .ManagedClusterLabels \"env\"", ".PolicyMetadata.labels", ".ManagedClusterLabels.none", "printf \"%s-cm\" .ManagedClusterName", ".PolicyMetadata.annotations.a", "len .ManagedClusterLabels")
		}
	}
	return g.pick(`upper "v1"`, `1`, `"x"`, `printf "%s-%d" "a" 3`, `fromConfigMap "testns" "testconfigmap" "cmkey1"`, `fromSecret "testns" "testsecret" "secretkey1"`,
		`fromSecret "testns" "testsecret" "secretkey2" | base64dec`, `fromClusterClaim "env"`, `lookupClusterClaim "none"`, `(lookup "v1" "Namespace" "" "testns").metadata.name`,
		`(lookup "v1" "Secret" "testns" "none").data`, `len (lookup "v1" "Node" "" "").items`, `"abc" | b64enc`, `"it's"`, `"a: b"`, `"l1\nl2"`, `"x #y"`, `dict "a" 1`, `list 1 "b" nil`,
		`list 1 2 | toJson`, `dict "k" "<v>" | toJson`, `dict "k" "<v>" | toRawJson`, `"{\"a\":1000000}" | fromJson`, `(fromJson "{\"a\":1.5}").a`, `quote "x"`, `squote "x"`, `1.0`, `1e6`, `add 1 2`, `"é" | upper`,
		"`raw`", "`a\\d`", `default "d" ""`, `ternary "a" "b" true`, `join "," (list 1 2)`, `fromYaml "a: [1, 2]" | toJson`, `(fromYAML "a: 2020-01-01").a`, `"" `, `"yes"`, `"*"`, `"#"`, `"'"`, `"\""`, `"😱"`, `"\t"`, `" pad "`,
		`toYaml (list "a")`, `trunc 2 "abc"`, `hasNodesWithExactRoles "infra"`, `index (list "a" "b") 1`, `regexReplaceAll "a(x*)b" "-axxb-" "${1}W"`, `atoi "12"`, `"12" | toInt`, `toLiteral "[1]"`, `'a'`, `copyConfigMapData "testns" "testcm-envb"`, `semverCompare "^1.2" "1.3.0"`,
		`"x=''"`, `printf "n='%s'" ""`, `squote "it's"`, `"it's" | base64enc`, `len "it's"`, `$q := "it's"`, `ternary "'a'" "b's" (eq "it's" "it's")`, `splitList "'" "a'b" | toJson`, `dict "k" "it's" | toJson`)
}

// mistake is what fails: when parsed, when executed, or when its output is read.
func (g *documentGenerator) mistake() string {
	return g.pick(`foo 1`, `upper 5`, `.Nope`, `.Nope.x`, `fail "no"`, `fromSecret "testns" "none" "k"`, `fromConfigMap "" "x" "y"`, `fromClusterClaim "none"`, `fromClusterClaim "nospec"`, `$undefined`,
		`lookup "v1"`, `lookup "x.io/v1" "Nope" "" ""`, `lookup "v1" "ConfigMap" "" "" "a IN (b)"`, `index (list 1) 5`, `(dict "a" nil).a.b`, `"x" | toInt | upper`, `"a\nb" | toLiteral`, `env "X"`, `protect "x"`, `template "zz"`,
		`if`, `end`, `else`, `"unterminated`, `(1`, `1)`, `1 | 2`, `'ab'`, `5.x`, `.x | | y`, `range 1`, `with`, `break`, `"\q"`, `until (add 1 2)`, `div 1 0`, `eq 1`, `lt 1 1.5`, `toYaml`, `fromYaml "a: b: c"`, `mustFromJson "{"`, `nil`, `set nil "a" 1`,
		`"{{ x }}"`, `/* c */`, `"x" "y"`, `indent "2" "x"`, `"x" | autoindent | upper`, `autoindent "x"`, `dig "a"`, `.`, `$x := 1`, `define "d"`, `block "b" .`, `printf "%d" "x"`, `1 +`, `"@x"`, `"{a"`, `"[b"`, `"a: b: c"`, `"&x"`, `"\x01"`, `"!!int x"`, `copySecretData "" "x"`, `hasKey . "a"`)
}

// raw is YAML text with templates.
func (g *documentGenerator) raw() string {
	var text strings.Builder
	if g.Intn(8) == 0 {
		text.WriteString(g.pick("# comment\n", "---\n", "{{/* note */}}\n", `{{ $v := "x" }}`+"\n", `{{- $m := dict "a" 1 }}`+"\n", `{{ define "d" }}d{{ . }}{{ end }}`, "{{- /* c */ -}}\n"))
	}
	if g.Intn(2) == 0 {
		text.WriteString(g.items())
	} else {
		text.WriteString(g.fields(0, 2))
	}
	if g.Intn(14) == 0 {
		text.WriteString(g.pick("---\nb: 2\n", "...\n", "# end", "{{ template \"d\" 1 }}", "  bad: indent\n", "- x\n", "a: 1\n", "\n\n"))
	}
	return text.String()
}

// items is what `object-templates-raw` most often is: list items out of ranges.
func (g *documentGenerator) items() string {
	var text strings.Builder
	for range 1 + g.Intn(3) {
		switch g.Intn(6) {
		case 0:
			text.WriteString(g.pick("{{ range ", "{{- range ") + g.pick("list 1 2", `$i, $e := list "a" "b"`, `(lookup "v1" "ConfigMap" "testns" "" "app=test").items`, "until 2", "list") + g.pick(" }}", " -}}", " }}") + "\n" +
				"- complianceType: musthave\n  objectDefinition:\n" + g.fields(4, 1) + g.pick("{{ end }}\n", "{{- end }}\n", "{{ end -}}\n"))
		case 1:
			text.WriteString(g.pick("{{ if ", "{{- if ") + g.pick("true", "false", "eq 1 1") + " }}\n- " + g.scalar() + "\n" + g.pick("", "{{ else }}\n- no\n") + g.pick("{{ end }}\n", "{{- end }}\n"))
		case 2:
			text.WriteString("- complianceType: musthave\n" + g.fields(2, 1))
		default:
			text.WriteString("- " + g.scalar() + "\n")
		}
	}
	return text.String()
}

func (g *documentGenerator) fields(indent, depth int) string {
	var text strings.Builder
	pad := strings.Repeat(" ", indent)
	for index := range 1 + g.Intn(4) {
		key := fmt.Sprintf("%s%d", g.pick("a", "b", "name", "k"), index)
		if g.Intn(12) == 0 {
			key = g.pick(`{{ "k" }}`, "'q'", `"d"`, "1", "? x", "true", "a0", "<<")
		}
		text.WriteString(pad + key + ":")
		switch {
		case depth > 0 && g.Intn(4) == 0:
			text.WriteString("\n" + g.fields(indent+2, depth-1))
		case depth > 0 && g.Intn(8) == 0:
			text.WriteString("\n" + pad + g.pick("", "  ") + "- " + g.scalar() + "\n")
		case g.Intn(6) == 0:
			text.WriteString(" " + g.pick("|", "|-", ">", ">-", "|+", "|2", ">+") + "\n" + pad + "  " + g.pick(g.words(), g.act(g.nested()+" | autoindent"), g.act(g.expression())) + "\n" + g.pick("", pad+"  "+g.act(g.expression())+"\n", "\n"))
		case g.Intn(10) == 0:
			text.WriteString("\n" + pad + "  " + g.act(g.nested()+" | autoindent") + "\n")
		default:
			text.WriteString(" " + g.scalar() + "\n")
		}
		if g.Intn(12) == 0 {
			text.WriteString(pad + g.pick("# c\n", "{{/* c */}}\n", "\n", "# {{ upper \"c\" }}\n"))
		}
	}
	return text.String()
}

func (g *documentGenerator) scalar() string {
	value := g.act(g.expression())
	switch g.Intn(16) {
	case 0, 1:
		return value
	case 2, 3:
		return "'" + value + "'"
	case 4:
		return `"` + value + `"`
	case 5:
		return value + g.pick(" # note", "  ", " x", "#x")
	case 6:
		return g.pick("[", "[ ") + value + ", " + g.pick("x", "'y'", value) + g.pick("]", " ]", "", ",]")
	case 7:
		return "{a: " + value + g.pick("}", ", b: 'x'}", "", " }")
	case 8:
		return g.pick("'", "", "'") + g.act(g.pick(`"3"`, `4`, `"x"`)+" | toInt") + g.pick("'", "", "'")
	case 9:
		return g.pick("'", "") + g.act(g.literal()+" | toLiteral") + g.pick("'", "")
	case 10:
		return "x" + value
	case 11:
		return g.pick("&a x", "*a", "&b "+value, "!!str "+value, "!!int '3'", "!t x", "!!binary YQ==", "~", "yes", "0777", "2020-01-01", "1e3", ".inf", "0o17", "1_0", "'it''s'", `"a\tb"`, "a: b", "[]", "{}", "x # c")
	case 12:
		return g.condition(g.words(), value)
	case 13:
		return g.words()
	default:
		return "'" + g.words() + " " + value + "'"
	}
}
