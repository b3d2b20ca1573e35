package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"reflect"
	"sort"
	"strings"
	"text/template"
	"time"
	"unicode/utf8"

	"github.com/Masterminds/sprig/v3"
)

// One template text and what Go makes of it: output, output that is not UTF-8 in base64, or error.
type sprigCase struct {
	Zone   string  `json:"z,omitempty"`
	Text   string  `json:"t"`
	Output *string `json:"o,omitempty"`
	Bytes  *string `json:"b,omitempty"`
	Error  *string `json:"e,omitempty"`
}

func init() {
	programs["sprig"] = func() error {
		time.Local = time.UTC
		texts := append(sprigTable(), sprigGenerated(12)...)
		return writeSprigCases("", append(texts, sprigRandom()...))
	}
	programs["sprig_zones"] = func() error {
		for _, name := range []string{"Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe"} {
			zone, err := time.LoadLocation(name)
			if err != nil {
				return err
			}
			time.Local = zone
			if err := writeSprigCases(name, sprigZoned()); err != nil {
				return err
			}
		}
		return nil
	}
}

func writeSprigCases(zone string, texts []string) error {
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetEscapeHTML(false)
	seen := map[string]bool{}
	for _, text := range texts {
		if seen[text] {
			continue
		}
		seen[text] = true
		result := runSprig(text)
		result.Zone = zone
		if err := encoder.Encode(result); err != nil {
			return err
		}
	}
	return nil
}

func runSprig(text string) sprigCase { return runWith(sprig.TxtFuncMap(), text) }

func runWith(functions template.FuncMap, text string) sprigCase {
	result := sprigCase{Text: text}
	fail := func(err error) sprigCase {
		message := err.Error()
		result.Error = &message
		return result
	}
	parsed, err := template.New("tmpl").Funcs(functions).Parse(text)
	if err != nil {
		return fail(err)
	}
	var output bytes.Buffer
	if err := parsed.Execute(&output, nil); err != nil {
		return fail(err)
	}
	shown := output.String()
	if utf8.ValidString(shown) {
		result.Output = &shown
	} else {
		encoded := base64.StdEncoding.EncodeToString(output.Bytes())
		result.Bytes = &encoded
	}
	return result
}

var stringPool = []string{
	`""`, `"a"`, `"hello world"`, `"héllo wörld"`, "\"  pad\\t\\n\"", `"FooBar"`, `"http_server-name x"`, `"a,b,,c"`,
	`(b64dec "/+kAYQ==")`, `"日本語"`, `"ß İ ǆ ŉ ὀ ᾳ"`, `"12"`, `"-7.9"`, `"0x1F"`, `"a/b/../c.txt"`, `","`, `"l"`, `"lo"`,
	`"a b-c_d.e"`, "`a\\d+`", `"HTTPServer2xx"`, `"line1\nline2"`, `" "`, `"."`, `"1h30m"`, `"nope("`, `"tést\u00a0x\u0085y"`,
}

var intPool = []string{"0", "1", "-1", "2", "3", "5", "7", "-3", "10", "20"}
var hugePool = []string{"9223372036854775807", "-9223372036854775808"}

var anyPool = []string{
	"nil", "true", "false", "0", "5", "-3", "1.5", "-2.5", "1e20", `"x"`, `""`, `"12"`, `"1.9"`, `"héé"`, "(int64 5)", `"0b11"`, "0.1",
	"(list)", `(list 1 "a" nil 1.5)`, `(list "b" "a" "b")`, "(list 3 1 2)", "(list (list 1) (dict \"k\" 1))", `(dict)`, `(dict "a" 1)`,
	`(dict "a" (dict "b" nil))`, `(splitList "," "b,a,,c")`, `(split "," "x,y")`, "(until 4)", "(chunk 2 (list 1 2 3))", "(rest (list))",
	`(semver "1.2.3-a+b")`, `(toDate "2006-01-02" "2023-12-31")`, `(index (splitList "," "q") 0)`, `(fromJson "{\"n\":1,\"l\":[1,null]}")`, `(fromJson "null")`,
}

var dictPool = []string{
	`(dict)`, `(dict "a" 1)`, `(dict "a" "")`, `(dict "a" (dict "b" 1 "c" (list 1)))`, `(dict "b" (list 1 2) "a" nil)`, `(dict "a" (dict "b" "" "d" 2))`,
	"nil", `(fromJson "{\"a\":{\"b\":[1]},\"z\":\"q\"}")`, `(dict "hello world" 5 "l" false)`,
}

var listPool = []string{"(list)", `(list "a" "b")`, "nil", `(list 1 nil)`, `(list "127.0.0.1" "x")`}
var timePool = []string{`(toDate "2006-01-02 15:04:05" "2023-12-31 23:59:58")`, `(toDate "x" "y")`, "nil", `"2023-01-01"`}
var floatPool = []string{"0.5", "0.7", "1", "0.0"}
var wrongPool = []string{"true", "5", `"s"`, "(list 1)", `(dict "a" 1)`, "1.5", "nil", "(int64 3)"}

// Functions whose results differ from call to call, that others test, or that take long.
var sprigSkipped = map[string]bool{
	"now": true, "randAlphaNum": true, "randAlpha": true, "randAscii": true, "randNumeric": true, "randBytes": true, "randInt": true,
	"uuidv4": true, "env": true, "expandenv": true, "getHostByName": true, "shuffle": true, "bcrypt": true, "htpasswd": true,
	"genPrivateKey": true, "genCA": true, "genCAWithKey": true, "genSelfSignedCert": true, "genSelfSignedCertWithKey": true,
	"genSignedCert": true, "genSignedCertWithKey": true, "buildCustomCert": true, "encryptAES": true, "derivePassword": true,
	"ago": true, "durationRound": true, "b64enc": true, "b64dec": true, "indent": true, "atoi": true, "mustFromJson": true, "fromJson": true, "toJson": true,
	"toPrettyJson": true, "toRawJson": true, "mustToJson": true, "mustToPrettyJson": true, "mustToRawJson": true,
	"values": true, "keys": true, "slice": true, "mustSlice": true,
	"date": true, "htmlDate": true, "dateInZone": true, "date_in_zone": true, "htmlDateInZone": true,
	"semver": true, "semverCompare": true,
}

func poolFor(kind reflect.Type, name string) []string {
	switch kind.String() {
	case "string":
		return stringPool
	case "int":
		switch name {
		case "repeat", "until", "untilStep", "seq", "nindent", "splitn":
			return intPool
		}
		return append(append([]string{}, intPool...), hugePool...)
	case "interface {}":
		return anyPool
	case "map[string]interface {}":
		return dictPool
	case "[]interface {}":
		return listPool
	case "time.Time":
		return timePool
	case "bool":
		return []string{"true", "false", "nil", "1"}
	case "float64":
		return floatPool
	}
	return wrongPool
}

// sprigGenerated combines arguments from the pools, the same ones in every run.
func sprigGenerated(count int) []string {
	functions := sprig.TxtFuncMap()
	names := make([]string, 0, len(functions))
	for name := range functions {
		names = append(names, name)
	}
	sort.Strings(names)
	random := rand.New(rand.NewSource(20260521))
	var texts []string
	for _, name := range names {
		if sprigSkipped[name] {
			continue
		}
		kind := reflect.TypeOf(functions[name])
		for i := 0; i < count; i++ {
			call := name
			for _, argument := range sprigArguments(random, kind, name) {
				call += " " + argument
			}
			if i%2 == 0 {
				texts = append(texts, "{{ "+call+" }}")
			} else {
				texts = append(texts, "{{ $x := "+call+" }}{{ printf \"%T|%v\" $x $x }}")
			}
		}
	}
	return texts
}

func sprigArguments(random *rand.Rand, kind reflect.Type, name string) []string {
	var arguments []string
	pick := func(parameter reflect.Type) {
		pool := poolFor(parameter, name)
		if random.Intn(25) == 0 {
			pool = wrongPool
		}
		arguments = append(arguments, pool[random.Intn(len(pool))])
	}
	fixed := kind.NumIn()
	if kind.IsVariadic() {
		fixed--
	}
	for i := 0; i < fixed; i++ {
		pick(kind.In(i))
	}
	if kind.IsVariadic() {
		for i := random.Intn(4); i > 0; i-- {
			pick(kind.In(fixed).Elem())
		}
	}
	if random.Intn(40) == 0 && len(arguments) > 0 {
		arguments = arguments[1:]
	}
	return arguments
}

// calls writes one template for each list of arguments.
func calls(function string, arguments ...string) []string {
	texts := make([]string, 0, len(arguments))
	for _, argument := range arguments {
		texts = append(texts, strings.TrimSpace(fmt.Sprintf("{{ %s %s", function, argument))+" }}")
	}
	return texts
}
