package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"strings"
	"text/template"
	"unicode/utf8"

	"github.com/Masterminds/sprig/v3"
)

func init() {
	programs["language"] = language
}

// templateCase is one template with what Go made of it: output or error.
type templateCase struct {
	Template string  `json:"t"`
	Hub      bool    `json:"hub,omitempty"`
	Output   *string `json:"o,omitempty"`
	Error    *string `json:"e,omitempty"`
}

// languageData is the dot of every case; the Rust side builds the same.
func languageData() map[string]any {
	return map[string]any{
		"s": "text", "empty": "", "i": 3, "zero": 0, "neg": -2, "i64": int64(4), "u64": uint64(5),
		"f": 1.5, "big": 1e6, "t": true, "no": false, "nul": nil,
		"list":   []any{1, "a", nil, 2.5, []any{"x"}, map[string]any{"k": "v"}},
		"none":   []any{},
		"strs":   []string{"b", "a", "c"},
		"ints":   []int{3, 1, 2},
		"m":      map[string]any{"a": 1, "b": map[string]any{"c": "deep", "n": nil}, "10": "ten", "9": "nine"},
		"labels": map[string]string{"env": "prod", "app": "x"},
		"codes":  map[int]string{2: "two", 10: "ten", 1: "one"},
		"items": []any{
			map[string]any{"name": "one", "n": 1},
			map[string]any{"name": "two", "n": 2},
			map[string]any{"name": "three"},
		},
	}
}

func runCase(text string, hub bool) (result templateCase, usable bool) {
	result = templateCase{Template: text, Hub: hub}
	t := template.New("tmpl").Funcs(sprig.TxtFuncMap())
	if hub {
		t = t.Delims("{{hub", "hub}}")
	}
	fail := func(err error) (templateCase, bool) {
		message := err.Error()
		result.Error = &message
		return result, utf8.ValidString(message) && utf8.ValidString(text)
	}
	t, err := t.Parse(text)
	if err != nil {
		return fail(err)
	}
	var out bytes.Buffer
	if err := t.Execute(&out, languageData()); err != nil {
		return fail(err)
	}
	output := out.String()
	result.Output = &output
	return result, utf8.ValidString(output) && utf8.ValidString(text)
}

func language() error {
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	seen := map[string]bool{}
	write := func(text string, hub bool) error {
		key := fmt.Sprint(hub, text)
		if seen[key] {
			return nil
		}
		seen[key] = true
		result, usable := runCase(text, hub)
		if !usable {
			return nil
		}
		line := &bytes.Buffer{}
		encoder := json.NewEncoder(line)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(result); err != nil {
			return err
		}
		_, err := out.Write(line.Bytes())
		return err
	}
	for _, text := range languageTable {
		if err := write(text, false); err != nil {
			return err
		}
	}
	for _, text := range valueTable {
		if err := write(text, false); err != nil {
			return err
		}
	}
	for _, text := range hubTable {
		if err := write(text, true); err != nil {
			return err
		}
	}
	generator := &generator{Rand: rand.New(rand.NewSource(7))}
	for range 9000 {
		// Random templates fail more often than not; most of those that do are left out.
		text := generator.document()
		if result, _ := runCase(text, false); result.Error != nil && generator.Intn(8) > 0 {
			continue
		}
		if err := write(text, false); err != nil {
			return err
		}
	}
	for range 900 {
		if err := write(generator.mutated(generator.document()), false); err != nil {
			return err
		}
	}
	for range 300 {
		hub := strings.NewReplacer("{{", "{{hub ", "}}", " hub}}").Replace(generator.document())
		if generator.Intn(2) == 0 {
			hub = generator.mutated(hub)
		}
		if err := write(hub, true); err != nil {
			return err
		}
	}
	return nil
}

// generator writes random templates, most of them valid.
type generator struct {
	*rand.Rand
	depth     int
	variables []string
}

func (g *generator) pick(options ...string) string {
	return options[g.Intn(len(options))]
}

func (g *generator) document() string {
	g.depth = 0
	g.variables = nil
	var text strings.Builder
	if g.Intn(6) == 0 {
		text.WriteString(`{{ define "` + g.pick("d", "e") + `" }}` + g.statements(2) + `{{ end }}`)
		g.variables = nil
	}
	text.WriteString(g.statements(3))
	return text.String()
}

func (g *generator) statements(most int) string {
	var text strings.Builder
	for range 1 + g.Intn(most) {
		text.WriteString(g.statement())
	}
	return text.String()
}

func (g *generator) open() string  { return g.pick("{{ ", "{{ ", "{{", "{{- ") }
func (g *generator) close() string { return g.pick(" }}", " }}", "}}", " -}}") }

func (g *generator) action(inside string) string { return g.open() + inside + g.close() }

func (g *generator) statement() string {
	if g.depth > 3 {
		return g.text()
	}
	g.depth++
	defer func() { g.depth-- }()
	known := len(g.variables)
	switch g.Intn(14) {
	case 0, 1:
		return g.text()
	case 2:
		text := g.action("if "+g.pipeline()) + g.statements(2)
		if g.Intn(2) == 0 {
			text += g.action("else if "+g.pipeline()) + g.statements(1)
		}
		if g.Intn(2) == 0 {
			text += g.action("else") + g.statements(1)
		}
		g.variables = g.variables[:known]
		return text + g.action("end")
	case 3:
		head := "with " + g.pipeline()
		if g.Intn(3) == 0 {
			head = "with " + g.declare() + g.pipeline()
		}
		text := g.action(head) + g.statements(2)
		if g.Intn(3) == 0 {
			text += g.action("else with "+g.pipeline()) + g.statements(1)
		}
		if g.Intn(3) == 0 {
			text += g.action("else") + g.statements(1)
		}
		g.variables = g.variables[:known]
		return text + g.action("end")
	case 4, 5:
		over := g.pick(".list", ".strs", ".m", ".labels", ".items", ".codes", ".none", ".nul", "3", ".i64", ".ints",
			"list 1 2", "dict \"a\" 1", ".f", ".s", "until 3", g.operand())
		head := "range " + over
		switch g.Intn(4) {
		case 0:
			head = "range " + g.declare() + over
		case 1:
			head = "range $k, $v := " + over
			g.variables = append(g.variables, "$k", "$v")
		}
		text := g.action(head) + g.statements(2)
		switch g.Intn(6) {
		case 0:
			text += g.action("if "+g.pipeline()) + g.action("break") + g.action("end")
		case 1:
			text += g.action("if "+g.pipeline()) + g.action("continue") + g.action("end") + g.text()
		}
		if g.Intn(3) == 0 {
			text += g.action("else") + g.statements(1)
		}
		g.variables = g.variables[:known]
		return text + g.action("end")
	case 6:
		if g.Intn(2) == 0 && len(g.variables) > 0 {
			return g.action(g.pick(g.variables...) + " = " + g.pipeline())
		}
		return g.action(g.declare() + g.pipeline())
	case 7:
		return g.action("template \"" + g.pick("d", "e", "tmpl2") + "\"" + g.pick("", " .", " "+g.operand()))
	case 8:
		text := g.action("block \""+g.pick("b", "c")+"\" "+g.operand()) + g.text() + g.action(".") + g.action("end")
		return text
	case 9:
		return g.pick("{{/* a comment */}}", "{{- /* trimmed */ -}}", "{{/* two\nlines */}}")
	default:
		return g.action(g.pipeline())
	}
}

func (g *generator) declare() string {
	name := g.pick("$x", "$y", "$long_name")
	g.variables = append(g.variables, name)
	return name + " := "
}

func (g *generator) text() string {
	return g.pick("text ", " a: b\n", "\n", "  - item\n", "é ", "x", "'quoted' ", "{ } ", "\t", "}}")
}

func (g *generator) pipeline() string {
	stages := []string{g.command()}
	for g.Intn(3) == 0 {
		stages = append(stages, g.pick(
			"print", "printf \"%v\"", "printf \"%s-%d\" \"a\"", "len", "not", "eq 1", "index", "upper", "quote", "default \"d\"",
			"toString", "html", "js", "urlquery", "and true", "or false", "lt 2", "add 1", "list", "first", "join \",\"",
			"trunc 3", "1", ".s", "$", "nosuch"))
	}
	return strings.Join(stages, " | ")
}

func (g *generator) command() string {
	switch g.Intn(9) {
	case 0, 1, 2:
		return g.operand()
	case 3:
		return g.pick("eq", "ne", "lt", "le", "gt", "ge") + " " + g.operand() + " " + g.operand()
	case 4:
		return g.pick("and", "or") + " " + g.operand() + " " + g.operand() + g.pick("", " "+g.operand())
	case 5:
		return "index " + g.operand() + " " + g.operand() + g.pick("", " "+g.operand())
	case 6:
		verb := g.pick("%v", "%d", "%s", "%q", "%x", "%5.2f", "%t", "%T", "%+v", "%#v", "%05d", "%-8s|", "%c", "%U", "%e", "%g", "%o", "%b", "%6v", "%%", "%z", "%[2]v", "%*d", "%.3s", "%+d", "%x", "%X", "%#x", "% x")
		return "printf \"" + verb + g.pick("", " "+verb, " %v") + "\" " + g.operand() + g.pick("", " "+g.operand())
	case 7:
		return g.pick("print", "println", "len", "not", "html", "js", "urlquery", "list", "dict", "upper", "typeOf", "kindOf",
			"toString", "first", "last", "default 1", "hasKey .m", "get .m", "set .m \"z\"", "ternary 1 2", "coalesce", "call", "keys", "deepCopy") +
			g.pick("", " "+g.operand(), " "+g.operand()+" "+g.operand())
	default:
		return g.operand()
	}
}

func (g *generator) operand() string {
	if g.depth > 5 {
		return "."
	}
	g.depth++
	defer func() { g.depth-- }()
	switch g.Intn(16) {
	case 0:
		return g.pick("1", "0", "-3", "1.5", "1e3", "0x1F", "1_000", "'a'", "'\\n'", "017", "0b11", "08", "3.0", "1e400", "9223372036854775808", "0x", "1.e2", "+4", "'ab'", "5.x")
	case 1:
		return g.pick("\"str\"", "\"a\\tb\"", "`raw`", "\"\"", "\"\\u00e9\"", "\"\\q\"", "`two\nlines`", "\"k\"")
	case 2:
		return g.pick("true", "false", "nil", "true", "false")
	case 3:
		return g.pick(".", "$", ".nosuch", "$.s", "$.m.b.c")
	case 4:
		if len(g.variables) > 0 {
			return g.pick(g.variables...) + g.pick("", "", ".a", ".name", ".b.c")
		}
		return g.pick("$undefined", ".s", "$.i")
	case 5, 6:
		return "(" + g.pipeline() + ")" + g.pick("", "", "", ".a", ".b.c")
	case 7:
		return g.pick(".m.b.c", ".m.b.n", ".m.b.n.x", ".m.nosuch.deeper", ".s.x", ".labels.env", ".labels.no.x", ".nul.x", ".list.x", ".codes.a", ".m.a.b", ".f.g")
	default:
		return g.pick(".s", ".i", ".zero", ".i64", ".u64", ".f", ".big", ".t", ".no", ".nul", ".list", ".none", ".strs", ".m", ".labels", ".items", ".codes", ".empty", ".neg", ".ints")
	}
}

// mutated changes a few bytes, so that lexer and parser meet every kind of damage.
func (g *generator) mutated(text string) string {
	runes := []rune(text)
	for range 1 + g.Intn(2) {
		if len(runes) == 0 {
			break
		}
		at := g.Intn(len(runes))
		switch g.Intn(3) {
		case 0:
			runes = append(runes[:at], runes[at+1:]...)
		case 1:
			added := []rune(g.pick("{{", "}}", "\"", "`", "'", "(", ")", "|", "$", ".", ":", ":=", "=", ",", "\n", " ", "end", "/*", "*/", "-", "é", "\x01", "@", "break", "else", "_", "0", "~", "\u00a0", "{{ end }}", "{{ else }}"))
			runes = append(runes[:at], append(added, runes[at:]...)...)
		default:
			end := min(len(runes), at+1+g.Intn(4))
			runes = append(runes[:at], runes[end:]...)
		}
	}
	return string(runes)
}
