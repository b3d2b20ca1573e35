package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"math/rand"
	"os"
	"sort"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
	sigs "sigs.k8s.io/yaml"
)

func init() {
	programs["yaml_documents"] = func() error { return writeCases(yamlDocuments(1, 1)) }
	programs["yaml_documents_many"] = func() error { return writeCases(yamlDocuments(seedFromEnv(), 40)) }
	programs["yaml_values"] = func() error { return writeCases(yamlValues(1, 400)) }
	programs["yaml_values_many"] = func() error { return writeCases(yamlValues(seedFromEnv(), 20000)) }
}

func seedFromEnv() int64 {
	seed, err := strconv.ParseInt(os.Getenv("SEED"), 10, 64)
	if err != nil {
		return time.Now().UnixNano()
	}
	return seed
}

// writeCases writes one case a line, as a JSON array.
func writeCases(cases []any) error {
	var out bytes.Buffer
	out.WriteString("[\n")
	for i, c := range cases {
		encoder := json.NewEncoder(&out)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(c); err != nil {
			return err
		}
		out.Truncate(out.Len() - 1)
		if i < len(cases)-1 {
			out.WriteByte(',')
		}
		out.WriteByte('\n')
	}
	out.WriteString("]\n")
	_, err := os.Stdout.Write(out.Bytes())
	return err
}

// tagged gives a value a form in JSON that keeps its type.
func tagged(value any) any {
	switch v := value.(type) {
	case nil, bool:
		return v
	case string:
		if utf8.ValidString(v) {
			return "s:" + v
		}
		return "b:" + base64.StdEncoding.EncodeToString([]byte(v))
	case int:
		return "i:" + strconv.Itoa(v)
	case int64:
		return "l:" + strconv.FormatInt(v, 10)
	case uint64:
		return "u:" + strconv.FormatUint(v, 10)
	case float64:
		return "f:" + strconv.FormatFloat(v, 'g', -1, 64)
	case time.Time:
		return "t:" + v.Format(time.RFC3339Nano)
	case []any:
		items := make([]any, len(v))
		for i, item := range v {
			items[i] = tagged(item)
		}
		return items
	case map[string]any:
		entries := make(map[string]any, len(v))
		pairs := make([]any, 0, len(v))
		valid := true
		for key, item := range v {
			entries[key] = tagged(item)
			pairs = append(pairs, []any{tagged(key), entries[key]})
			valid = valid && utf8.ValidString(key)
		}
		if !valid {
			sort.Slice(pairs, func(i, j int) bool { return fmt.Sprint(pairs[i]) < fmt.Sprint(pairs[j]) })
			return map[string]any{"\x00dict": pairs}
		}
		return entries
	case map[any]any:
		entries := make([]any, 0, len(v))
		for key, item := range v {
			entries = append(entries, []any{tagged(key), tagged(item)})
		}
		sort.Slice(entries, func(i, j int) bool { return fmt.Sprint(entries[i]) < fmt.Sprint(entries[j]) })
		return map[string]any{"\x00general": entries}
	}
	panic(fmt.Sprintf("no tag for %T", value))
}

type documentCase struct {
	In   string `json:"in,omitempty"`
	B64  string `json:"b64,omitempty"`
	V3   any    `json:"v3"`
	Sigs any    `json:"sigs"`
}

func failed(err any) any { return map[string]any{"\x00error": fmt.Sprint(err)} }

func decodeV3(text []byte) (result any) {
	defer func() {
		if p := recover(); p != nil {
			result = nil
			panicked = true
		}
	}()
	var value any
	if err := yaml.Unmarshal(text, &value); err != nil {
		return failed(err)
	}
	return tagged(value)
}

// panicked is set when the library did not survive a document.
var panicked bool

func decodeSigs(text []byte) (result any) {
	defer func() {
		if p := recover(); p != nil {
			result = nil
			panicked = true
		}
	}()
	asJSON, err := sigs.YAMLToJSON(text)
	if err != nil {
		return failed(err)
	}
	decoder := json.NewDecoder(bytes.NewReader(asJSON))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return failed(err)
	}
	return tagged(kubernetesNumbers(value))
}

// kubernetesNumbers converts numbers as k8s.io/apimachinery/pkg/util/json does.
func kubernetesNumbers(value any) any {
	switch v := value.(type) {
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return i
		}
		f, _ := v.Float64()
		return f
	case []any:
		for i := range v {
			v[i] = kubernetesNumbers(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = kubernetesNumbers(v[key])
		}
	}
	return value
}

var awkwardScalars = strings.Split(`~ null Null NULL nul true True TRUE tRue false False FALSE yes Yes no No on On off OFF y Y n N
0 1 -1 +1 00 007 0777 08 09 -08 0x1F 0X1f 0x 0x1G -0x10 +0x10 0o17 0O17 0o8 -0o17 0b11 0B11 0b12 -0b11 0b-101 -0b-1 0o-7 0b 0o
1_000 _1 1_ 1__0 0x_f 0_7 1_000.5 1_0e1_0 123456789012345678901234567890 9223372036854775807 9223372036854775808 -9223372036854775808
-9223372036854775809 18446744073709551615 18446744073709551616 0xffffffffffffffff 0x7fffffffffffffff
1.0 1. .5 -.5 +.5 . .. ... .e5 1e3 1E3 1e+3 1e-3 1.5e3 -1.5E-3 1e400 -1e400 1e-400 .1e400 1e 1e+ 1.e5 1.2.3 .5_0 ._5 .5_ .5e1_0 ._ .5__0
0.1 1e6 1e20 1e21 1e22 123456.789 1000000.0 0.000001 0.0000001 5e-324 1.7976931348623157e308 4.9e-324 3.4028235e38 -0 -0.0 +0.0 0.
.nan .NaN .NAN .nAn .inf .Inf .INF +.inf -.inf -.Inf +.INF +.nan inf nan Infinity
2020-01-01 2020-1-1 2020-13-01 2020-02-30 2020-02-29 2021-02-29 20-01-01 02020-01-01 2020-01-01T00:00:00Z 2020-01-01t00:00:00Z
2020-01-01T1:2:3Z 2020-01-01T01:02:03.5Z 2020-01-01T01:02:03,5Z 2020-01-01T01:02:03.Z 2020-01-01T01:02:03.123456789123Z 2020-01-01T01:02:03+02:00
2020-01-01T01:02:03-02:30 2020-01-01T01:02:03+0200 2020-01-01T01:02:03+24:00 2020-01-01T01:02:03+25:00 2020-01-01T01:02:03+23:60 2020-01-01T01:02:03
2020-01-01T24:00:00Z 2020-01-01T23:60:00Z 2020-01-01T23:59:60Z 2020-01-01T23:59:59z 0000-01-01 0001-01-01 9999-12-31 9999-12-31T23:59:59.999999999Z
2020-01-01T00:00:00.000Z 2020-01-01T00:00:00.100Z 2020-01-01T00:00:00+00:00 2020-01-01T00:00:00-00:00 2020-0a-01 2020- 2020-01 2020-01-01x
1:20 190:20:30 -190:20:30 1:60 1:5.5 12:30:45.5_0 0:0 1:2:3:4 << = ! !! & * | > % @ - -- --- -a -1a ? ?a : :a a:b a: :: # a#b #a
a-b a_b "" '' "a" 'a' "\n" 'it''s' "it's" [] {} [a] {a: b} [a, b] {a} [a: b] [{a: b}] [[]] [,] [a,] {,} {a:1} {"a":1} {a: 1,} [? a] [- a] [1, 0x2, ~] {? a : b} {: a} [: a] {a, b: c}
'2020-01-01' "1" '~' 'true' "0777" !!str 1 !!int "1" !!float 1 !!float "1.5" !!bool yes !!bool true !!bool "true" !!null ~ !!null "" !!null x !!str !!str ~ !!int x !!int 0x1G !!int 1.0 !!float x
!!timestamp 2020-01-01 !!timestamp "2020-01-01" !!timestamp 2020 !!binary aGVsbG8= !!binary gICA !!binary "*" !!binary aGVs bG8= !!seq x !!map x !!seq [a] !!map {a: b} !!set {a, b} !!omap [a: 1]
!foo bar !foo [a] ! 12 ! "12" ! << !!merge << !<tag:yaml.org,2002:int> 5 !<tag:yaml.org,2002:int> "5" !<!int> 5 !e!x 5 !!python/object x !% x !%41 x !a%C3%A9 x !< x !<> x !a!b!c x !!int 18446744073709551615 !!float 18446744073709551615
&a b &a *a &a &b c *b &a-b_1 x &a: b &é x & x * x &a [*a] &a {k: *a} *unknown
🎉 a🎉b é ü ß 日本語 "\u00e9" "\U0001F389" "\x41" "\xZZ" "\uD800" "\u12" "\q" "\/" "\ " "\e\0\a\b\v\f\N\_\L\P" "a\
`, " ")

var documents = []string{
	"", " ", "\n", "\n\n", "# c", "# c\n", "---", "---\n", "---\n...", "...", "...\n", "--- a", "--- a\n--- b", "a\n---\nb", "a\n...\nb", "a: 1\n...\n@", "a: 1\n---\n@", "a: 1\n---\n- [", "--- |\n a\n b\n",
	"%YAML 1.1\n---\na: 1", "%YAML 1.2\n---\na: 1", "%YAML 2.0\n---\na", "%YAML 1.1\n%YAML 1.1\n---\na", "%YAML 1\n---\na", "%YAML 1.123\n---\n", "%YAML\n---\n", "%FOO bar\n---\na", "%TAG ! tag:x,2000:\n---\n!a b", "%TAG !e! tag:yaml.org,2002:\n---\n!e!int '5'", "%TAG !e! x\n%TAG !e! y\n---\na", "%TAG e x\n---\n", "%YAML 1.1\na", "%YAML 1.1 # c\n---\na", "%YAML 1.1 x\n---\na", "%\n", "%YAML 1.1\n", "a\n%YAML 1.1\n---\nb",
	"a: b", "a: b\n", "a:\n  b: c\n", "a:\n- b\n- c\n", "a:\n  - b\n  - c\n", "- a\n- b\n", "- - a\n  - b\n- c\n", "-\n  a: b\n", "- a: b\n  c: d\n", "-   a: b\n    c: d\n", "? a\n: b\n", "? a\n", "? [a]\n: b\n", "? {a: b}\n: c\n", "? |\n  x\n: y\n", "? - a\n: - b\n", "a: b: c", "a:\n  b\n c: d", "a: b\n c: d", "a:\n\tb: c", "\ta: b", "a: \tb", "a:\tb", "- \ta", "-\ta", "- a\n\t- b", "a: [\n\tb]", "a: b\t# c", "a: |\n\tb", "a: |\n  b\n\tc",
	"a b: c d", "a  b:   c   d  ", "a: b # c", "a: b#c", "a: #c", "a: # c\n  b", "#c\na: b", "a: b\n#c\nc: d", "a:\n  # c\n  b: c\n # d\n  d: e\n", "- # c\n  a: b", "-\n  # c\n  a", "a: 'b' #c", "a: 'b'#c", "a: \"b\"#c", "[a #c\n, b]", "[a, #c\n b]", "{a: #c\n b}", "a: b\n\n\n# c\n\n# d\ne: f", "# c\n\t# d\na: b", "a: b\n# c\n\t# d\ne: f", "a:\n  - b\n  # c\n\t\n  - d", "? # c\n a", "?\t# c\n a", "- a # b\n-\t# c\n  b", "a: # c\n\t# d\n  b",
	"a: |\n  b\n  c\n", "a: |-\n  b\n  c\n", "a: |+\n  b\n  c\n\n\n", "a: |2\n   b\n  c\n", "a: |2-\n   b\n", "a: |-2\n   b\n", "a: |+2\n   b\n\n", "a: |0\n b", "a: |10\n b", "a: |x\n b", "a: | # c\n  b\n", "a: |# c\n  b\n", "a: |\n", "a: |", "a: |\n\n\n  b\n", "a: |\n    \n  b\n", "a: |\n   b\n  c\n", "a: |\n  b\n c\n", "a: |\n  b\nc: d\n", "a: |\n  b\n\n\nc: d\n", "a: |+\n  b\n\n\nc: d\n", "a: |-\n  b\n\n\nc: d\n", "- |\n a\n- >\n b\n", "|\n a\n", "|\na\n", "a: |\n b\n---\nc", "a: |\n b\n...\n", "a: |1\n b\n  c\n", "a: |9\n b\n",
	"a: >\n  b\n  c\n", "a: >-\n  b\n  c\n", "a: >+\n  b\n  c\n\n\n", "a: >\n  b\n\n  c\n", "a: >\n  b\n\n\n  c\n", "a: >\n  b\n   c\n  d\n", "a: >\n\n  b\n   c\n\n   d\n  e\n", "a: >\n  b\n  \tc\n  d\n", "a: >2\n   b\n  c\n", "a: > # c\n  b", "a: >\n b\n\n\n", "a: >\n  b  \n  c\n",
	"a: 'b\n  c'", "a: 'b\n\n  c'", "a: 'b  \n   c  '", "a: 'b", "a: 'b\n---\nc'", "a: 'b\n...\nc'", "a: \"b\n  c\"", "a: \"b\\\n  c\"", "a: \"b\\\n\n  c\"", "a: \"b \\\n   \\  c\"", "a: \"b", "a: \"b\\", "a: \"b\\\"", "\"\\", "'", "\"", "''", "\"\"", "'''", "''''", "a: \"\\x4\"", "a: \"\\u123\"", "a: \"\\U00110000\"", "a: \"\\ud83d\\ude00\"", "'a': b", "\"a\": b", "'a\n b': c", "\"a\" \"b\"", "'a' b", "a 'b'", "a: b 'c'", "\"a\":b", "{\"a\":b}", "[\"a\":b]", "{'a':b}", "a: 'b'c",
	"a: b\n  c", "a: b\n  c\n  d: e", "a\nb", "a\nb: c", "a\n  b", "a: b\nc", "a: b\nc\nd: e", "a: b\n- c", "- a\nb: c", "- a\n b", "- a\n  b", "- a\n- b\nc", "a:\n- b\nc: d", "a:\n - b\n- c", "a:\n  - b\n - c", " a: b\nc: d", "  a: b\n c: d", "a: b\n  - c", "a: - b", "a: -b", "- -a", "- ? a", "a: ? b", "a\n: b", ": b", ":", "a:\n:", "?", "? ", "? a\n? b", "? a\nb: c", "a: 1\n? b\n: c", "-", "- ", "-\n-", "- - -", "- -\n  -",
	"[a", "[a\n", "{a", "{a: b", "[a, b", "[a b, c d]", "[a\nb]", "{a\nb}", "[a]]", "{a}}", "[a}", "{a]", "a: [b\nc: d]", "a: {b\nc: d}", "a: [\nb\n]", "a: [\n  b\n  ]", "a: {\n  b: c\n}", "[a, [b, {c: d}]]", "{a: {b: [c]}}", "[]: a", "{}: a", "[a]: b", "{a: b}: c", "a: []", "a: {}", "- []\n- {}", "[a]b", "[a] b", "a: [b] c", "a: {b} c", "[a]: [b]", "{[a]: b}", "{{ a }}", "a: {{ b }}", "a: {{ b }} c", "a: {{b}}", "a: {{ b | c }}", "a: {{ \"b\" }}", "- {{ a }}", "{{ a }}: b", "a: [{{ b }}]", "a: '{{ b }}'", "a: x{{ b }}", "a: {{ b }}\nc: d", "a: {{- b }}", "{{- if a }}\nb: c\n{{- end }}", "a: {b: {c: d}}",
	"a: 1\na: 2", "a: 1\nb: 2\na: 3\nb: 4", "a: 1\n'a': 2", "{a: 1, a: 2}", "1: a\n1: b", "1: a\n01: b", "1: a\n'1': b", "~: a\nnull: b", "a:\n  b: 1\n  b: 2\nc: 1\nc: 2", "- a: 1\n  a: 2\n- b: 1\n  b: 2", "[a]: 1\n[b]: 2", "*a: 1", "&a a: 1\n*a : 2", "\"a\\tb\": 1\n\"a\\tb\": 2", "é: 1\né: 2", "{[]: 1, {}: 2}",
	"1: a", "1.5: a", "true: a", "~: a", "2020-01-01: a", "0x10: a", ".inf: a", "? []\n: a", "? {}\n: a", "? {a: 1, 2: b}\n: c", "? [1, a, ~, true, 1.5, 2020-01-01]\n: c", "? [18446744073709551615]\n: a", "18446744073709551615: a", "a: {1: 2}", "1: {a: {2: b}}", "- 1: a\n- b: c", "1e3: a", "1000000.5: a", "1e21: a", "0.1: a", "16777217.0: x", "? {a: [b, {c: 1e6}]}\n: x", "? [2020-01-01T01:02:03.5+02:00]\n: x", "? [é, \"\\t\", '🎉']\n: x", "!!str [a]: b", "!!str {a: 1}: b", "!!binary aGVsbG8=: x", "!!binary gICA: x", "a: 1\n!!str [a]: b",
	"a: &x 1\nb: *x", "a: &x {k: v}\nb: *x\nc: *x", "a: &x [1, *x]", "a: &x {k: *x}", "&x a: b\nc: *x", "a: &x\nb: *x", "a: &x 1\nb: &x 2\nc: *x", "*x", "a: *x\nb: &x 1", "- &x a\n- *x\n- *y", "a: &x !!int '5'\nb: *x", "a: !!int &x '5'\nb: *x", "a: &x &y 1", "a: !!str !!int 1", "&x\na: b", "&x a", "&x [a, b]", "&x - a", "a: &x - b", "a: &x\n  - b\nc: *x", "a: &x\n- b\nc: *x", "a: &x\n  b: c\nd: *x", "a: *x b", "a: [*x]", "&x *x", "a: &x 1\n*x : 2", "a: &x 1\n*x: 2", "&a [&b [*a]]", "x: &x [a]\ny: &y [*x, *x]\nz: [*y, *y]",
	"b: &b {x: 1, y: 2}\na:\n  <<: *b\n  x: 3", "b: &b {x: 1}\na:\n  x: 3\n  <<: *b\n  z: 4", "b: &b {x: 1}\nc: &c {x: 2, y: 3}\na:\n  <<: [*b, *c]\n  z: 1", "a:\n  <<: {x: 1}\n  y: 2", "a:\n  <<: [{x: 1}, {x: 2, y: 3}]", "a: {<<: 1}", "a: {<<: [1]}", "a: {<<: ~}", "a: {<<: []}", "a: {<<: {}}", "a: {<<: *x}", "x: &x 1\na: {<<: *x}", "x: &x [{a: 1}]\na: {<<: *x}", "x: &x 1\na: {<<: [*x]}", "a: {'<<': {x: 1}}", "a: {\"<<\": 1}", "a: {!!merge <<: {x: 1}}", "a: {! <<: {x: 1}}", "a: {!!str <<: {x: 1}}", "a: {<<: {x: 1}, <<: {y: 2}}", "<<: {a: 1}\nb: 2", "<<: {1: a}\nb: 2", "<<: {~: a, true: b, 1.5: c, 2020-01-01: d}\nb: 2", "1: x\n<<: {1: a, b: 2}", "<<: {<<: {a: 1, b: 2}, b: 3}\nc: 4", "<<: {<<: {a: 1}, a: 2, <<: {b: 1}}", "b: &b {<<: &c {x: 1, w: 1}, x: 2}\na: {<<: [*b, *c], y: 1}", "<<: {[a]: 1}", "<<: {{a: b}: 1}", "1: x\n<<: {[a]: 1}", "<<: {a: 1, a: 2}", "<<: a", "- <<", "a: <<", "<<: <<", "[<<: {a: 1}]", "{<<: {a: 1}, a: 2}", "<<: {a: {b: 1}}\na: {c: 2}", "x: &x {a: 1}\n<<: *x\na: 2", "x: &x\n  <<: *x\n", "<<: [[{a: 1}]]", "<<: {a: &q 1}\nb: *q", "<<: {a: ~}\nb: 1", "a: ~\n<<: {a: 1}", "<<: {!!binary aGVsbG8=: 1}\nb: 1", "&k a: 1\n<<: {*k : 2, b: 3}", "&k 1: 1\n<<: {*k : 2, b: 3}",
	"a: b\r\nc: d\r\n", "a: |\r\n  b\r\n  c\r\n", "a: b\rc: d", "a: 'b\r\n  c'", "a: \"b\\\r\n  c\"", "- a\r\n- b", "a: b # c\r\nd: e", "# c\r\n# d\r\na: b", "a: >\r\n  b\r\n  c\r\n", "a: b\u0085c: d", "a: b\u2028c: d", "a: 'b\u2028 c'", "a: 'b\u2029\u2029 c'", "a: |\n  b\u2028  c\n", "a: |\n  b\u0085  c\n", "# c\u0085a: b", "# c\u2028# d\na: b", "a: \"b\\\u2028 c\"", "a: b\u2028  c", "a: >\n  b\u2028  c\n  d",
	"\ufeffa: b", "\ufeff", "\ufeff# c\na: b", "a: \ufeffb", "a: b\n\ufeffc: d", "a\ufeff: b", "- \ufeff", "a: \u00a0b", "a:\u00a0b", "a: b\x00", "a: \x01", "a: b\x7f", "a: \u0080", "a: \u009f", "a: \ufffe", "a: \x1b[0m", "a: b\n\nc: \x02",
	"a: @b", "a: `b`", "@a: b", "a: %b", "%a: b", "a: |b", "a: >b", "a: ,b", "a: ]", "a: }", "a: &", "a: *", "a: !", "a: !!", "a: &b", "a: ?b", "a: :b", "a: -", "a: - ", "a: --- b", "a: ... b", "a:\n--- b", "a:\n---b", "---b", "--- - a", "---\t a", "--- # c\na", "...b", "... a",
	"a: b\n  c: d\n e: f", "a:\n    b: c\n  d: e", "a: [b, c\nd: e", "a: {b: c\nd: e", "key: [1, 2\nkey2: 3]", "a:\n- b:\n  - c:\n    - d", "a: !!int", "a: !!str", "a: !!null", "a: !!float\nb: c", "a: !!seq\n- b", "a: !foo\n  b: c", "- !!str\n- !!int 5\n- !!float 5\n- !!bool true\n- !!null\n- !!timestamp 2020-01-01",
	"a: !!int [b]", "!!int {a: b}", "!!map [a]", "a: !!bool {x: y}", "a: !!float 0x10\nb: !!float 010", "a: !!timestamp 2020-01-01T00:00:00Z", "a: !!timestamp x", "a: !!timestamp 5", "a: !!int 2020-01-01", "a: !!str 2020-01-01", "a: !!str {{ x }}",
	"a: !x!y z", "!x!y: z", "a: !<x y", "a: !<x>y", "a: !<x> y", "a: !x,y", "[!x,y]", "[!x ,y]", "[!!int 5,6]", "a: !%zz b", "a: !%C3%28 b", "a: !%FF b", "a: !%E2%82%AC b", "a: !x#y z", "a: !x{y z", "!: a", "! : a",
	strings.Repeat("a: ", 50), strings.Repeat("- ", 60) + "a", strings.Repeat("[", 60) + strings.Repeat("]", 60), strings.Repeat("{a: ", 60) + "1" + strings.Repeat("}", 60), strings.Repeat("[", 30), strings.Repeat("k", 1030) + ": v", "'" + strings.Repeat("k", 1030) + "': v", "? " + strings.Repeat("k", 1030) + "\n: v", "[" + strings.Repeat("k", 1030) + ": v]", "{" + strings.Repeat("k", 1030) + ": v}", strings.Repeat("k", 1024) + ": v", strings.Repeat("k", 1023) + ": v", "a: " + strings.Repeat("word ", 60), "a: 'x" + strings.Repeat(" y", 60) + "'", "- " + strings.Repeat("k", 1100) + "\n- b: c", "a:\n  " + strings.Repeat("k", 1030) + ": v",
	"a: 1\nb: [c\n" + strings.Repeat("# comment line\n", 40) + "\x01", "a: [\n" + strings.Repeat("x, ", 200) + "\x01", "a: ]\n" + strings.Repeat("# comment line\n", 40) + "\x01", "a: 1\n" + strings.Repeat("# c\n", 200) + "b: 2", "a: 1\n# c\n" + strings.Repeat("\n", 600) + "# d\nb: 2", "a: 1\n# c\n" + strings.Repeat(" ", 600) + "# d\nb: 2", "a: b" + strings.Repeat(" ", 600) + "# d\nb: 2", "- a" + strings.Repeat("\t", 520) + "# d\n- b",
	"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: '{{ .x }}'\n  labels: {a: \"b\"}\ndata:\n  k: |\n    line 1\n      line 2\n\n    line 3\n  n: '{{ (lookup \"v1\" \"Secret\" \"ns\" \"it''s\").data.x | base64dec | toInt }}'\n",
}

var rawDocuments = [][]byte{
	{0xff}, {'a', ':', ' ', 0xff}, {'a', 0xc3}, {0xc3, 0x28}, {0xe2, 0x82}, {0xf0, 0x9f, 0x8e}, {0xc0, 0x80}, {0xed, 0xa0, 0x80}, {0xf4, 0x90, 0x80, 0x80}, {0xf8, 0x88}, {0xe0, 0x80, 0x80}, {0xf0, 0x80, 0x80, 0x80}, {0x80},
	{0xff, 0xfe, 'a', 0, ':', 0, ' ', 0, 'b', 0}, {0xfe, 0xff, 0, 'a', 0, ':', 0, ' ', 0, 'b'}, {0xff, 0xfe, 'a'}, {0xff, 0xfe, 0x3d, 0xd8, 0x00, 0xde}, {0xff, 0xfe, 0x3d, 0xd8}, {0xff, 0xfe, 0x00, 0xde}, {0xff, 0xfe, 0x3d, 0xd8, 'a', 0}, {0xff, 0xfe}, {0xfe, 0xff}, {0xef, 0xbb, 0xbf}, {0xef, 0xbb}, {0xef, 0xbb, 0xbf, 'a'},
	append(bytes.Repeat([]byte("a: b # c\n"), 3), 0xff), append(bytes.Repeat([]byte("- abcdefg\n"), 100), 0xff), append(bytes.Repeat([]byte("- [\n"), 200), 0xff), append(bytes.Repeat([]byte("é"), 300), 0xe2, 0x82), append(bytes.Repeat([]byte("a"), 511), 0xc3, 0xa9, '\n', 'b'), append(append(bytes.Repeat([]byte("a"), 511), 0xc3, 0xa9), bytes.Repeat([]byte("b"), 520)...),
}

var soup = []string{"a", "b", "c", "k", "1", "0x1", "~", "true", "yes", "2020-01-01", "<<", ": ", ": ", ":", ":\n", "- ", "- ", "-", "-\n", "\n", "\n", "\n", "\n  ", "\n  ", "\n    ", "\n ", " ", "  ", "\t", "[", "]", "{", "}", ", ", ",", "#", " # c", " # c\n", "\n# c\n", "'", "'x'", "\"", "\"x\"", "|", "|\n", "|-\n", "|+\n", ">\n", ">2\n", "&a ", "&b ", "*a", "*b ", "!!int ", "!!str ", "!x ", "! ", "? ", "?\n", "---\n", "...\n", "--- ", "%", "@", "\r\n", "\r", "\\", "\\n", "é", "🎉", "\u2028", "\u0085", "x y", "word", "{{ x }}", "=", "+", ".5", "\ufeff", "\x01"}

func randomScalar(r *rand.Rand) string {
	switch r.Intn(8) {
	case 0:
		return fmt.Sprint(r.Intn(2000) - 1000)
	case 1:
		return strconv.FormatFloat(r.NormFloat64()*math.Pow(10, float64(r.Intn(40)-20)), 'g', -1, 64)
	case 2, 3:
		return awkwardScalars[r.Intn(len(awkwardScalars))]
	case 4:
		return "'" + strings.Repeat("it''s ", r.Intn(3)) + "'"
	case 5:
		return strconv.Quote(soup[r.Intn(len(soup))] + soup[r.Intn(len(soup))])
	default:
		return []string{"abc", "x y", "a-b", "foo", "bar", "v1", "Secret"}[r.Intn(7)]
	}
}

func randomDocument(r *rand.Rand, indent, depth int) string {
	pad := strings.Repeat(" ", indent)
	comment := ""
	if r.Intn(10) == 0 {
		comment = strings.Repeat(" ", r.Intn(4)) + " # c"
	}
	if depth == 0 || r.Intn(4) == 0 {
		switch r.Intn(10) {
		case 0:
			header := []string{"|", "|-", "|+", ">", ">-", ">+"}[r.Intn(6)]
			text := header + comment + "\n"
			for range r.Intn(4) + 1 {
				text += pad + strings.Repeat(" ", r.Intn(3)) + soup[r.Intn(len(soup))] + "\n"
			}
			return text + strings.Repeat("\n", r.Intn(3))
		case 1:
			items := make([]string, r.Intn(4))
			for i := range items {
				items[i] = randomScalar(r)
				if r.Intn(3) == 0 {
					items[i] = "k" + strconv.Itoa(r.Intn(3)) + ": " + items[i]
				}
			}
			brackets := []string{"[]", "{}"}[r.Intn(2)]
			return brackets[:1] + strings.Join(items, ", ") + brackets[1:] + comment + "\n"
		}
		property := ""
		switch r.Intn(12) {
		case 0:
			property = "&a" + strconv.Itoa(r.Intn(3)) + " "
		case 1:
			return "*a" + strconv.Itoa(r.Intn(3)) + comment + "\n"
		case 2:
			property = []string{"!!str ", "!!int ", "!!float ", "!x ", "! "}[r.Intn(5)]
		}
		return property + randomScalar(r) + comment + "\n"
	}
	text := ""
	if r.Intn(3) == 0 {
		text = "&a" + strconv.Itoa(r.Intn(3))
	}
	text += comment + "\n"
	isMap := r.Intn(2) == 0
	for i := range r.Intn(4) + 1 {
		if r.Intn(8) == 0 {
			text += strings.Repeat(" ", r.Intn(6)) + "# comment\n"
		}
		if r.Intn(10) == 0 {
			text += "\n"
		}
		if isMap {
			key := "k" + strconv.Itoa(i)
			switch r.Intn(12) {
			case 0:
				key = randomScalar(r)
			case 1:
				key = "<<"
			case 2:
				key = "'" + key + "'"
			}
			text += pad + key + ": " + randomDocument(r, indent+r.Intn(3)+1, depth-1)
		} else {
			text += pad + "- " + randomDocument(r, indent+2, depth-1)
		}
	}
	return text
}

func mutate(r *rand.Rand, text string) string {
	runes := []rune(text)
	for range r.Intn(3) + 1 {
		at := r.Intn(len(runes) + 1)
		piece := []rune(soup[r.Intn(len(soup))])
		switch r.Intn(3) {
		case 0:
			runes = append(runes[:at:at], append(piece, runes[at:]...)...)
		case 1:
			if at < len(runes) {
				runes = append(runes[:at:at], runes[at+1:]...)
			}
		default:
			if at < len(runes) {
				runes = append(runes[:at:at], append(piece, runes[at+1:]...)...)
			}
		}
	}
	return string(runes)
}

func yamlDocuments(seed int64, times int) []any {
	r := rand.New(rand.NewSource(seed))
	texts := make([][]byte, 0, 4096)
	add := func(text string) { texts = append(texts, []byte(text)) }
	if times == 1 {
		for _, text := range documents {
			add(text)
		}
		texts = append(texts, rawDocuments...)
		for _, scalar := range awkwardScalars {
			add("k: " + scalar)
		}
		for _, scalar := range awkwardScalars {
			if r.Intn(3) == 0 {
				add("- " + scalar + "\n- [" + scalar + "]\n")
			}
			if r.Intn(4) == 0 {
				add(scalar + ": v\n")
			}
		}
	}
	for range 350 * times {
		text := randomDocument(r, 0, r.Intn(4))
		add(text)
		if r.Intn(2) == 0 {
			add(mutate(r, text))
		}
	}
	for range 400 * times {
		add(mutate(r, documents[r.Intn(len(documents))]))
	}
	for range 500 * times {
		text := ""
		for range r.Intn(12) + 2 {
			text += soup[r.Intn(len(soup))]
		}
		add(text)
	}
	seen := map[string]bool{}
	var cases []any
	for _, text := range texts {
		if seen[string(text)] || len(text) > 6000 {
			continue
		}
		seen[string(text)] = true
		var c documentCase
		done := make(chan struct{})
		go func() {
			c = documentCase{V3: decodeV3(text), Sigs: decodeSigs(text)}
			close(done)
		}()
		select {
		case <-done:
		case <-time.After(3 * time.Second):
			fmt.Fprintf(os.Stderr, "no answer for %q\n", text)
			continue
		}
		if utf8.Valid(text) {
			c.In = string(text)
		} else {
			c.B64 = base64.StdEncoding.EncodeToString(text)
		}
		// Where several keys become one text, or several cannot, it answers now this, now that.
		stable := true
		for range 30 {
			again := decodeSigs(text)
			a, _ := json.Marshal(c.Sigs)
			b, _ := json.Marshal(again)
			stable = stable && bytes.Equal(a, b)
		}
		if panicked || !stable {
			panicked = false
			continue
		}
		cases = append(cases, c)
	}
	return cases
}

type valueCase struct {
	Value any `json:"value"`
	// YAML is what an indentation of 2 gives, Four one of 4 where that differs.
	YAML string `json:"yaml"`
	Four string `json:"four,omitempty"`
}

func encodeYAML(value any, indent int) string {
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(indent)
	if err := encoder.Encode(value); err != nil {
		panic(err)
	}
	if err := encoder.Close(); err != nil {
		panic(err)
	}
	return out.String()
}

var awkwardStrings = append([]string{
	"", " ", "  ", "a ", " a", "a b", "a  b", "\n", "\n\n", "a\n", "\na", "a\nb", "a\nb\n", "a\nb\n\n", " a\nb", "a\n b", "a\n  b\n", "a \nb", "a\nb ", "a\n \nb", "a\n\n\nb", "\n a", "\n\n a\n", " \n", "a\n ", "\t", "\ta", "a\t", "a\tb", "a\n\tb", "a\tb\nc", "\r", "a\rb", "a\r\nb", "a\r\n", "\x00", "a\x00b", "\x07\x08\x0b\x0c\x1b", "\x7f", "\u0080", "\u0085", "a\u0085b", "\u00a0", "a\u00a0b", "\u2028", "a\u2028b", "a\u2028 b", "a \u2028b", "\u2029a", "a\u2029\nb", "\ufeff", "a\ufeffb", "\ufffd", "\ufffe", "\uffff", "\ue000", "\ud7ff", "🎉", "a🎉b", "🎉\n", "é", "é\nü", "日本語",
	"a: b", "a:", "a :b", ":a", ": a", ":", "a:b", "- a", "-", "--", "---", "--- a", "---a", "...", "... a", "....", "?", "? a", "?a", "!", "!a", "&", "&a", "*", "*a", "|", "|a", ">", ">a", "'", "'a'", "it's", "\"", "\"a\"", "a\"b", "a'b\"c", "%", "%a", "@", "@a", "`", "`a", "#", "#a", "a#b", "a #b", "a# b", ",", ",a", "a,b", "[", "]", "a[b]", "{", "}", "{a}", "a{b}", "\\", "a\\b", "a\\nb", "=", "<<", "<", "~", "~a",
	"{{ x }}", "{{ x }}\n", "a {{ x }}", "'{{ x }}'", "{{ \"a\" }}", "{{ 'a' }} b", "{{ x }} \n y", "{{ x }}\ty", "🎉 {{ printf \"%s\" \"x\" }}", "{{ `a\\b` }}\t", "{{- if x }}\n  a: b\n{{- end }}\n",
	strings.Repeat("a", 127), strings.Repeat("a", 128), strings.Repeat("a", 129), strings.Repeat("é", 64), strings.Repeat("é", 65), strings.Repeat("ab ", 60), strings.Repeat("ab ", 60) + "x", "x\n" + strings.Repeat("ab ", 60) + "x", "'" + strings.Repeat("ab ", 60) + "x", "\t" + strings.Repeat("ab ", 60) + "x",
	"\xff", "\xff\xfe\x80abc", strings.Repeat("\xff\x00abc", 20), strings.Repeat("\xff", 52), strings.Repeat("\xff", 51), strings.Repeat("\xff", 53), strings.Repeat("\xff", 105), "a\xffb\nc",
}, awkwardScalars...)

func randomString(r *rand.Rand) string {
	if r.Intn(3) == 0 {
		return awkwardStrings[r.Intn(len(awkwardStrings))]
	}
	alphabet := []string{"a", "b", " ", "\n", ":", "-", "#", "'", "\"", "1", "0", ".", "é", "\t", "{", "}", ",", "x", "y", "\u2028", "🎉", "?", "_", "Z"}
	text := ""
	for range r.Intn(8) {
		text += alphabet[r.Intn(len(alphabet))]
	}
	return text
}

func randomKey(r *rand.Rand) string {
	alphabet := []string{"a", "b", "B", "1", "2", "10", "0", "01", "9", "-", ".", "_", " ", "é", "日", "٣", "", "Z", "/"}
	text := ""
	for range r.Intn(5) {
		text += alphabet[r.Intn(len(alphabet))]
	}
	return text
}

func randomValue(r *rand.Rand, depth int, onlyJSON bool) any {
	n := 10
	if depth == 0 {
		n = 7
	}
	switch r.Intn(n) {
	case 0:
		return nil
	case 1:
		return r.Intn(2) == 0
	case 2:
		return r.Intn(2000) - 1000
	case 3:
		return math.Trunc(r.NormFloat64()*1000) * math.Pow(10, float64(r.Intn(50)-28))
	case 4, 5, 6:
		return randomString(r)
	case 7:
		items := make([]any, r.Intn(4))
		for i := range items {
			items[i] = randomValue(r, depth-1, onlyJSON)
		}
		return items
	case 8:
		if !onlyJSON && r.Intn(3) == 0 {
			entries := map[any]any{}
			for range r.Intn(4) {
				key := []any{nil, true, false, 1, -5, 1.5, uint64(math.MaxUint64), "a", "b", 10, 2.0}[r.Intn(11)]
				entries[key] = randomValue(r, depth-1, onlyJSON)
			}
			return entries
		}
	}
	entries := map[string]any{}
	for range r.Intn(5) {
		key := randomKey(r)
		if r.Intn(4) == 0 {
			key = randomString(r)
		}
		entries[key] = randomValue(r, depth-1, onlyJSON)
	}
	return entries
}

func yamlValues(seed int64, times int) []any {
	r := rand.New(rand.NewSource(seed))
	values := []any{}
	if times < 1000 {
		values = append(values, nil, true, false, 0, -1, int64(5), uint64(math.MaxUint64), 1.0, 1.5, -0.0, 1e6, 1e20, 1e21, 1e-5, 123456789.0, math.Inf(1), math.Inf(-1), math.NaN(), math.MaxFloat64, 5e-324, []any{}, map[string]any{}, map[any]any{}, []any(nil), map[string]any(nil), time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC), time.Date(2020, 1, 2, 3, 4, 5, 120000000, time.FixedZone("", 7200)), []any{time.Date(2020, 1, 2, 0, 0, 0, 0, time.UTC)})
		for i, text := range awkwardStrings {
			switch i % 4 {
			case 0:
				values = append(values, text, map[string]any{text: 1, "a": []any{text}})
			case 1:
				values = append(values, map[string]any{"k": text}, map[string]any{text: text})
			case 2:
				values = append(values, []any{text, []any{text}}, map[string]any{text: []any{map[string]any{text: nil}}})
			default:
				values = append(values, []any{map[string]any{"a": text, "b": map[string]any{"c": text}}}, text)
			}
		}
		keys := map[string]any{}
		for range 300 {
			keys[randomKey(r)] = nil
		}
		values = append(values, keys)
	}
	for range times {
		values = append(values, randomValue(r, 1+r.Intn(4), false))
	}
	cases := make([]any, len(values))
	for i, value := range values {
		c := valueCase{Value: tagged(value), YAML: encodeYAML(value, 2), Four: encodeYAML(value, 4)}
		if c.Four == c.YAML {
			c.Four = ""
		}
		cases[i] = c
	}
	return cases
}
