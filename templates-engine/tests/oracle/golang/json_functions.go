package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"strconv"
	"strings"
	"text/template"
	"time"

	"github.com/Masterminds/sprig/v3"
	"gopkg.in/yaml.v3"
)

func init() {
	programs["json_functions"] = func() error {
		time.Local = time.UTC
		return writeJSONFunctionCases()
	}
}

// jsonFunctions are Sprig's, the engine's other spellings of them, and YAML as the engine has it.
func jsonFunctions() template.FuncMap {
	functions := sprig.TxtFuncMap()
	for name, of := range map[string]string{
		"toJSON": "toJson", "mustToJSON": "mustToJson", "toRawJSON": "toRawJson", "mustToRawJSON": "mustToRawJson",
		"fromJSON": "fromJson", "mustFromJSON": "mustFromJson",
	} {
		functions[name] = functions[of]
	}
	functions["toYaml"], functions["toYAML"] = toYAML, toYAML
	functions["fromYaml"], functions["fromYAML"] = fromYAML, fromYAML
	return functions
}

func toYAML(value any) (text string, err error) {
	defer func() {
		if problem := recover(); problem != nil {
			err = fmt.Errorf("yaml marshal error: %v", problem)
		}
	}()
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(value); err != nil {
		return "", err
	}
	return strings.TrimSuffix(out.String(), "\n"), nil
}

func fromYAML(text string) (any, error) {
	var value any
	err := yaml.Unmarshal([]byte(text), &value)
	return value, err
}

// jsonOperands are values of every type that templates can have.
var jsonOperands = []string{
	`nil`, `.`, `.missing`, `true`, `false`, `0`, `-7`, `9223372036854775807`, `-9223372036854775808`, `(int64 5)`, `1.5`, `-0.0`, `1e6`, `1e20`, `1e21`, `1e-6`, `1e-7`, `0.1`, `100000.0`,
	`(float64 "inf")`, `(float64 "-inf")`, `(float64 "nan")`, `(list (float64 "inf"))`, `(dict "a" (float64 "nan"))`,
	`""`, `"a"`, `" "`, `"<a href='x'>&amp;</a>"`, `"line\nbreak"`, `"line\n"`, `"\n"`, `"a\tb"`, `"\u2028\u2029"`, `"é🎉"`, `"\u0000\u0001\u007f\u0085\ufeff"`, `"\\ \" / '"`,
	`"true"`, `"null"`, `"~"`, `"1"`, `"1.5"`, `"0x1F"`, `"2020-01-01"`, `"yes"`, `"on"`, `"1:20"`, `"- a"`, `"a: b"`, `"a #b"`, `"{a}"`, `"[a]"`, `"*a"`, `"&a"`, `"!a"`, `"|"`, `">"`, `"%a"`, `"@a"`, "\"`a\"", `" lead"`, `"trail "`, `"<<"`, `"="`,
	`(b64dec "/+kAYQ==")`, `(b64dec "4oI=")`, `(repeat 90 "x y ")`, `(b64dec (repeat 30 "//79"))`,
	`(list)`, `(list 1 "a" nil 1.5 true)`, `(list (list) (list 1) (dict))`, `(list (list (list 1 2) 3) (dict "a" (list 1 (dict "b" nil))))`, `(splitList "," "b,a")`, `(until 3)`, `(chunk 2 (list 1 2 3))`, `(rest (list))`, `(first (list))`,
	`(dict)`, `(dict "a" 1)`, `(dict "b" 1 "a" 2 "B" 3 "10" 4 "9" 5 "" 6 "a-b" 7 "a.b" 8 "a_b" 9 "ab" 10 "b9" 11 "b10" 12)`, `(dict "a" (dict "b" (dict "c" (list))))`, `(dict "<&>" "x" "\u2028" "y")`, `(dict "a" nil "b" (list nil))`,
	`(dict "true" 1 "null" 2 "1" 3 "a b" 4 "a: b" 5 "- x" 6)`, `(dict (repeat 130 "k") 1 "two\nlines" 2)`, `(split "," "x,y")`, `(dict (b64dec "/w==") 1)`,
	`(semver "1.2.3-a+b")`, `(toDate "2006-01-02" "2023-12-31")`, `(toDate "2006-01-02 15:04:05.000" "2023-12-31 01:02:03.450")`, `(list (toDate "2006-01-02" "2023-12-31"))`, `(index "abc" 1)`,
	`(fromJson "{\"a\":[1,2.5,1e30,null,true,\"x\"]}")`, `(fromYaml "a: 1\nb: [1.5, 0x10, 18446744073709551615]\nc: 2020-01-01")`, `(fromYaml "1: a\ntrue: b")`, `(fromYaml "null: c")`, `(fromYaml "1.5: d")`, `(fromYaml "18446744073709551615")`,
}

// jsonDocumentTexts are texts to be read, good and bad.
var jsonDocumentTexts = []string{
	``, ` `, `null`, `nul`, `true`, `tru`, `1`, `-1`, `01`, `1.`, `1e400`, `[1e400,2]`, `-`, `"a"`, `"a`, `"\u00e9"`, `"\ud83d\ude00"`, `"\ud83d"`, `"\x"`, "\"a\nb\"", `[]`, `[1,]`, `[1 2]`, `[1`, `{}`, `{"a":1,"a":2}`, `{"a":1,}`, `{"a"}`, `{"a":}`, `{a:1}`, `{'a':1}`, `{1:2}`,
	`{"a":{"b":[1,{"c":null}]}}`, `[[[[1]]]]`, `1 2`, `{} x`, "\ufeff1", "\xff", "[\"\xff\"]", `123456789012345678901234567890`, `1e5`, `0.1`, `-0`,
	`a`, `a: 1`, "a: 1\nb:\n- 1\n- c: d", "a: b: c", "a:\n\t- b", "- a\nb", "[a", "{a: 1", "'a", "\"a", "a: *x", "a: &x 1\nb: *x", "a: &x [*x]", "a: 1\na: 2", "? [a]\n: b", "a: {{ x }}", "--- a\n--- b", "...", "# only", "!!int a", "!!str 1", "!!binary YQ==", "!!binary x",
	"a: |\n  x\n  y\n", "a: >-\n  x\n  y\n", "a: yes\nb: 0777\nc: 08\nd: 1_000\ne: .inf\nf: 0b11\ng: 1e3\nh: 2020-01-01T01:02:03Z\ni: ~", "<<: {a: 1}\nb: 2", "a: !!float 1", "%YAML 1.2\n---\na", "a: \x01", "- - 1\n  - 2\n-\n  - 3", "a:   b   \n", "a: 'it''s'", "@a", "`a", "a:\r\n  b: 1\r\n",
}

var (
	jsonWriters = []string{"toJson", "mustToJson", "toRawJson", "mustToRawJson", "toPrettyJson", "mustToPrettyJson", "toYaml"}
	jsonReaders = []string{"fromJson", "mustFromJson", "fromYaml"}
)

func jsonFunctionTexts() []string {
	var texts []string
	for _, operand := range jsonOperands {
		for _, writer := range jsonWriters {
			texts = append(texts, fmt.Sprintf("{{ %s %s }}", writer, operand))
		}
		texts = append(texts,
			fmt.Sprintf("{{ %s | toYaml | fromYaml | toJson }}", operand),
			fmt.Sprintf("{{ %s | toJson | fromJson | toYaml }}", operand))
	}
	for _, text := range jsonDocumentTexts {
		literal := strconv.Quote(text)
		for _, reader := range jsonReaders {
			texts = append(texts, fmt.Sprintf("{{ %s %s }}|{{ typeOf (%s %s) }}", reader, literal, reader, literal))
		}
		texts = append(texts,
			fmt.Sprintf("{{ %s | fromJson | toRawJson }}", literal),
			fmt.Sprintf("{{ %s | fromYaml | toJson }}", literal),
			fmt.Sprintf("{{ %s | fromYaml | toYaml }}", literal))
	}
	for _, name := range []string{"toJSON", "mustToJSON", "toRawJSON", "mustToRawJSON", "toYAML"} {
		texts = append(texts, "{{ "+name+` (dict "<a>" 1) }}`, "{{ "+name+" }}", "{{ "+name+" 1 2 }}", "{{ "+name+` (float64 "inf") }}`)
	}
	for _, name := range []string{"fromJSON", "mustFromJSON", "fromYAML", "fromJson", "mustFromJson", "fromYaml"} {
		texts = append(texts, "{{ "+name+` "{\"a\": [1, 2.5]}" }}`, "{{ "+name+` "{\"a\": {\"b\": 1000000}}" }}{{ (`+name+` "{\"a\": {\"b\": 1000000}}").a.b }}`,
			"{{ "+name+" }}", "{{ "+name+" 1 }}", "{{ "+name+" nil }}", "{{ "+name+" .x }}", "{{ "+name+` "a" "b" }}`, "{{ "+name+` "[1,2" }}`, "{{ range "+name+` "[3,1,2]" }}{{ . }},{{ end }}`)
	}
	random := rand.New(rand.NewSource(11))
	pick := func(from []string) string { return from[random.Intn(len(from))] }
	for range 150 {
		inner := fmt.Sprintf("(dict %s %s %s %s)", strconv.Quote(pick([]string{"a", "b", "<", "x y", "9", "10"})), pick(jsonOperands), strconv.Quote(pick([]string{"c", "d", "é", "-", "~"})), pick(jsonOperands))
		list := fmt.Sprintf("(list %s %s %s)", pick(jsonOperands), inner, pick(jsonOperands))
		texts = append(texts, fmt.Sprintf("{{ %s %s }}", pick(jsonWriters), pick([]string{inner, list})))
	}
	return texts
}

func writeJSONFunctionCases() error {
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetEscapeHTML(false)
	functions := jsonFunctions()
	seen := map[string]bool{}
	for _, text := range jsonFunctionTexts() {
		if seen[text] {
			continue
		}
		seen[text] = true
		if err := encoder.Encode(runWith(functions, text)); err != nil {
			return err
		}
	}
	return nil
}
