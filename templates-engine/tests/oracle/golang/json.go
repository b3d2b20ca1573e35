package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"math"
	"math/rand"
	"strings"
	"unicode/utf8"
)

func init() {
	programs["json_documents"] = func() error { return writeCases(jsonDocuments(1, 1)) }
	programs["json_documents_many"] = func() error { return writeCases(jsonDocuments(seedFromEnv(), 40)) }
	programs["json_values"] = func() error { return writeCases(jsonValues(1, 250)) }
	programs["json_values_many"] = func() error { return writeCases(jsonValues(seedFromEnv(), 20000)) }
}

type jsonDocument struct {
	In    string `json:"in,omitempty"`
	B64   string `json:"b64,omitempty"`
	Value any    `json:"value"`
	Error string `json:"error,omitempty"`
}

var jsonTexts = append(strings.Split(`null true false nul nulll tru truex fals falsy Null n t f 0 -0 1 -1 01 -01 1. 1.5 .5 -.5 - -- -a +1 1e 1e5 1E5 1e+5 1e-5 1e+ 1e- 1ea 1.e5 1.5e5 1e400 -1e400 1e-400 1.7976931348623157e308 123456789012345678901234567890 0x10 1_0 1a 00 0.1 0.10 [1e400,2] {"a":1e400,"b":1e999}
"" "a" "a a" "a\n" "\"" "\\" "\/" "\b\f\n\r\t" "\a" "\x41" "\u0041" "\u004" "\u004g" "\ud83d\ude00" "\ud83d" "\ude00" "\ud83d\u0041" "\ud83dx" "\ud83d\ud83d\ude00" "\u" "\u12 "\ " ' 'a' a
[] [1] [1,2] [1,] [,1] [1 [1,2 [ ] [1]] [[]] [[],[]] [{}] [1}2] {} {"a":1} {"a":1,} {"a" {"a": {"a":1 {"a":1,"b" { } {a:1} {'a':1} {"a"1} {"a":1"b":2} {"a":1]} {1:2} {,} {"a":1,"a":2} {"a":{"b":1},"a":{"c":2}} {"":1} {"a":[1,{"b":null}]} {"\u0061":1,"a":2} [1]x {"a":1}{ 1,2 "a""b" null, nullnull`, " "),
	"", " ", "\n", "\t\r\n 1 \t\r\n", "\v1", "\f1", " 1", "1 2", "[1 2]", "[1\n,\n2]", "{\"a\"\n:\n1}", "\"a\nb\"", "\"a\tb\"", "\"\x00\"", "\"\x1f\"", "\"\x7f\"", "\"é🎉\u2028\"", "é", "\u00a0", "\u00ad", "🎉", "[é]", "\"a", "\"a\\", "[\"a\" \"b\"]", "{\"a\" : 1 , \"b\" : [ 1 , 2 ] }", "// c\n1", "/* */1", "1 // c", "\ufeff1", "[1]\x00", "\\", "`", "[\\]", "{\\}", "tr\"", "[tru]", "-]", "[-]", "1.]", "\"\\u12\"", "\"\\u12", "NaN", "Infinity", "-Infinity", "[1,\x01]", "[\x07]", "[\x08]", "[\x7f]")

func jsonDocuments(seed int64, times int) []any {
	r := rand.New(rand.NewSource(seed))
	var texts [][]byte
	for _, text := range jsonTexts {
		texts = append(texts, []byte(text))
	}
	for _, text := range []string{"\"\xff\"", "\"a\xe2\x82\"", "\"\xe2\x82\\n\xe2\"", "\xff", "[\xff]", "[\xe9]", "[\x80]", "[\xa0]", "[\xad]", "{\"\xff\":1}", "{\"\xff\":1,\"\xfe\":2}", "\"\\u00e9\xed\xa0\x80\""} {
		texts = append(texts, []byte(text))
	}
	for range 350 * times {
		text, _ := json.Marshal(jsonable(randomValue(r, 1+r.Intn(4), true)))
		if r.Intn(2) == 0 {
			var indented bytes.Buffer
			_ = json.Indent(&indented, text, "", " ")
			text = indented.Bytes()
		}
		texts = append(texts, text)
		for range 2 {
			mutant := bytes.Clone(text)
			for range r.Intn(2) + 1 {
				pieces := "{}[]:,\"\\ue10-.tfn \n\x01\xff'"
				at := r.Intn(len(mutant) + 1)
				piece := pieces[r.Intn(len(pieces))]
				switch {
				case r.Intn(2) == 0 || at == len(mutant):
					mutant = append(mutant[:at:at], append([]byte{piece}, mutant[at:]...)...)
				default:
					mutant = append(mutant[:at:at], mutant[at+1:]...)
				}
			}
			texts = append(texts, mutant)
		}
	}
	seen := map[string]bool{}
	var cases []any
	for _, text := range texts {
		if seen[string(text)] || len(text) > 400 {
			continue
		}
		seen[string(text)] = true
		var c jsonDocument
		if utf8.Valid(text) {
			c.In = string(text)
		} else {
			c.B64 = base64.StdEncoding.EncodeToString(text)
		}
		var value any
		if err := json.Unmarshal(text, &value); err != nil {
			c.Error = err.Error()
		}
		c.Value = tagged(value)
		cases = append(cases, c)
	}
	return cases
}

// jsonable replaces the numbers that JSON does not have.
func jsonable(value any) any {
	if f, ok := value.(float64); ok && (math.IsInf(f, 0) || math.IsNaN(f)) {
		return 0.5
	}
	return value
}

type jsonValue struct {
	Value    any    `json:"value"`
	HTML     string `json:"html"`
	Raw      string `json:"raw,omitempty"`
	Indented string `json:"indented,omitempty"`
	Error    string `json:"error,omitempty"`
}

func jsonValues(seed int64, times int) []any {
	r := rand.New(rand.NewSource(seed))
	var values []any
	if times < 1000 {
		values = append(values, nil, true, 1, int64(-5), uint64(math.MaxUint64), 1.0, 1.5, math.Copysign(0, -1), 1e20, 1e21, 1e-6, 1e-7, 9.99e-7, 123456789.0, 5e-324, math.MaxFloat64, 2007201511557284.25, math.Inf(1), math.Inf(-1), math.NaN(), []any{}, map[string]any{}, map[any]any{}, map[any]any{1: 2}, []any{math.Inf(1)}, "<a>&'\"", "\u2028\u2029", "\xff\xe2\x82x", map[string]any{"\xff": 1, "b": []any{}, "a": map[string]any{}, "c": []any{1, []any{2}, map[string]any{"x": nil}}})
		for _, text := range awkwardStrings {
			values = append(values, text)
		}
	}
	for range times {
		values = append(values, randomValue(r, 1+r.Intn(4), r.Intn(4) > 0))
	}
	cases := make([]any, len(values))
	for i, value := range values {
		c := jsonValue{Value: tagged(value)}
		if text, err := json.Marshal(value); err != nil {
			c.Error = err.Error()
		} else {
			c.HTML = string(text)
			var raw bytes.Buffer
			encoder := json.NewEncoder(&raw)
			encoder.SetEscapeHTML(false)
			_ = encoder.Encode(value)
			if c.Raw = strings.TrimSuffix(raw.String(), "\n"); c.Raw == c.HTML {
				c.Raw = ""
			}
			indented, _ := json.MarshalIndent(value, ">", "  ")
			if c.Indented = string(indented); c.Indented == c.HTML {
				c.Indented = ""
			}
		}
		cases[i] = c
	}
	return cases
}
