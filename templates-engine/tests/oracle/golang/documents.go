package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"text/template/parse"
	"unicode/utf8"

	"github.com/Masterminds/sprig/v3"
	"github.com/spf13/cast"
	"gopkg.in/yaml.v3"
)

func init() {
	programs["documents"] = func() error { return wholeDocuments(11, 2700) }
	programs["documents_many"] = func() error {
		seed, err := strconv.ParseInt(os.Getenv("SEED"), 10, 64)
		if err != nil {
			return err
		}
		return wholeDocuments(seed, 40000)
	}
}

// wholeDocument is one whole document, how it is resolved, and what becomes of it: in Output or Error as
// the contract's algorithm has it, and in Better and BetterError with the rough edges of Edges mended.
type wholeDocument struct {
	Input   string `json:"i"`
	Yaml    bool   `json:"y,omitempty"`
	Hub     bool   `json:"hub,omitempty"`
	Indent  int    `json:"n,omitempty"`
	Context string `json:"c,omitempty"`

	Output      *string `json:"o,omitempty"`
	Error       *string `json:"e,omitempty"`
	Edges       []int   `json:"edge,omitempty"`
	Better      *string `json:"b,omitempty"`
	BetterError *string `json:"be,omitempty"`
}

type templateContext struct {
	ManagedClusterName   string
	ManagedClusterLabels map[string]string
	PolicyMetadata       map[string]any
}

// documentContexts holds what `.` is; the Rust side builds the same.
func documentContext(name string) any {
	object := map[string]any{
		"metadata": map[string]any{"name": "web", "labels": map[string]any{"app": "x"}},
		"spec": map[string]any{
			"replicas": int64(3), "ratio": 1.5, "nul": nil, "big": int64(12345678),
			"items": []any{map[string]any{"name": "one"}, map[string]any{"name": "two", "n": int64(2)}},
		},
		"data": map[string]any{"text": "l1\nl2\n", "quote": "it's", "colon": "a: b"},
	}
	switch name {
	case "watch":
		return nil
	case "namespace":
		return struct{ ObjectNamespace string }{"ns1"}
	case "object":
		return struct {
			Object          map[string]any
			ObjectNamespace string
			ObjectName      string
		}{object, "ns1", "web"}
	case "hub":
		return templateContext{
			"cluster1",
			map[string]string{"region": "eu", "env": "prod"},
			map[string]any{"name": "p", "namespace": "policies", "labels": map[string]string(nil), "annotations": map[string]string{"a": "b"}},
		}
	default:
		return struct{}{}
	}
}

func (d *wholeDocument) delimiters() (left, right string) {
	if d.Hub {
		return "{{hub", "hub}}"
	}
	return "{{", "}}"
}

// resolve answers for a document as the contract's steps 6 to 13 say, and again as its list of rough
// edges wants it.
func (d *wholeDocument) resolve() error {
	better := &pipeline{wholeDocument: d, mends: true}
	plain := &pipeline{wholeDocument: d}
	output, err := plain.run()
	d.Output, d.Error = outcomeOf(d.Input, output, err)
	output, err = better.run()
	d.Better, d.BetterError = outcomeOf(d.Input, output, err)
	if same(d.Output, d.Better) && same(d.Error, d.BetterError) {
		d.Edges, d.Better, d.BetterError = nil, nil, nil
		return nil
	}
	d.Edges = better.edges
	if len(d.Edges) == 0 {
		return fmt.Errorf("a difference without a reason: %q", d.Input)
	}
	return nil
}

func same(a, b *string) bool {
	return a == b || a != nil && b != nil && *a == *b
}

// inputMark stands for the input in recorded errors, which would double the fixture's size.
const inputMark = "%INPUT%"

func outcomeOf(input, output string, err error) (*string, *string) {
	if err == nil {
		return &output, nil
	}
	message := strings.Replace(err.Error(), input, inputMark, 1)
	return nil, &message
}

type pipeline struct {
	*wholeDocument
	mends bool
	edges []int
}

func (p *pipeline) run() (string, error) {
	texts, err := p.texts()
	if err != nil {
		return "", fmt.Errorf("failed to convert the policy template to YAML: %w", err)
	}
	t, err := p.parse(texts[0])
	for index, text := range texts[1:] {
		if err == nil || text == texts[0] {
			continue
		}
		if mended, second := p.parse(text); second == nil {
			p.touch([]int{3, 4}[index])
			t, err = mended, nil
		}
	}
	if err != nil {
		return "", fmt.Errorf("failed to parse the template JSON string %s: %w", p.Input, err)
	}
	var out bytes.Buffer
	if err := t.Execute(&out, documentContext(p.Context)); err != nil {
		return "", fmt.Errorf("failed to resolve the template %s: %w", p.Input, err)
	}
	var value any
	if err := yaml.Unmarshal(out.Bytes(), &value); err != nil {
		return "", fmt.Errorf("failed to convert the resolved template to JSON: %w", err)
	}
	resolved, err := json.Marshal(value)
	if err != nil {
		return "", fmt.Errorf("failed to convert the resolved template to JSON: %w", err)
	}
	return string(resolved), nil
}

func (p *pipeline) touch(edge int) {
	if !slices.Contains(p.edges, edge) {
		p.edges = append(p.edges, edge)
	}
}

// texts gives the YAML text; if asked to mend, first with the author's apostrophes in actions that
// hand nothing on, then in all, then with the actions in double quotes mended too. The next counts
// only if none before parses.
func (p *pipeline) texts() ([]string, error) {
	if p.Yaml {
		return []string{p.Input}, nil
	}
	decoder := json.NewDecoder(strings.NewReader(p.Input))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	plain, err := encodeYaml(p.guarded(value, nil))
	if err != nil || !p.mends {
		return []string{plain}, err
	}
	none := func(action string) string { return action }
	apostrophes := strings.NewReplacer("'", apostrophe).Replace
	some := func(action string) string {
		if p.handsOn(action) {
			return action
		}
		return apostrophes(action)
	}
	escapes := strings.NewReplacer(`"`, "\ue001", `\`, "\ue002").Replace
	all := func(action string) string { return escapes(apostrophes(action)) }
	var texts []string
	for _, guards := range [][2]func(string) string{{none, none}, {none, some}, {none, apostrophes}, {escapes, all}} {
		without, err := encodeYaml(p.guarded(value, guards[0]))
		if err != nil {
			return nil, err
		}
		text, err := encodeYaml(p.guarded(value, guards[1]))
		if err != nil {
			return nil, err
		}
		texts = append(texts, unguarded.Replace(stillQuoted(text, without)))
	}
	if texts[0] != plain {
		p.touch(4)
	}
	if texts[1] != texts[0] {
		p.touch(3)
	}
	return texts[1:], nil
}

// stillQuoted leaves apostrophes guarded where the text without guards has two for each.
func stillQuoted(text, without string) string {
	var result strings.Builder
	for text != "" {
		if !strings.HasPrefix(text, apostrophe) {
			result.WriteByte(text[0])
			text, without = text[1:], without[1:]
			continue
		}
		rest, after := strings.TrimLeft(text, apostrophe), strings.TrimLeft(without, "'")
		guards, written := (len(text)-len(rest))/len(apostrophe), len(without)-len(after)
		if written == 2*guards {
			result.WriteString(strings.Repeat(apostrophe, guards))
		} else {
			result.WriteString(strings.Repeat("'", guards))
		}
		text, without = rest, after
	}
	return result.String()
}

var (
	blockStart = regexp.MustCompile(`^-?\s*(?:else\s+)?(?:range|with|template|block)\b`)
	assignment = regexp.MustCompile(`^-?\s*\$\w*(?:\s*,\s*\$\w*)?\s*:?=`)
)

// handsOn says whether what an action works on goes to other actions, whose output quotes may halve.
func (p *pipeline) handsOn(action string) bool {
	left, _ := p.delimiters()
	body := strings.TrimPrefix(action, left)
	return blockStart.MatchString(body) || assignment.MatchString(body)
}

// What quoting changes is guarded by characters of the private use area, which change neither the
// style of a scalar nor its lines. Apostrophes stay so until it is known which are still in quotes.
const apostrophe = "\ue000"

var unguarded = strings.NewReplacer("\ue001", `"`, "\ue002", `\`, `\uFFFE`, `\uFEFF`)

// guarded is a JSON value as YAML gets it, its actions guarded.
func (p *pipeline) guarded(value any, guard func(string) string) any {
	switch value := value.(type) {
	case map[string]any:
		result := map[string]any{}
		for key, item := range value {
			result[p.guardedText(key, guard)] = p.guarded(item, guard)
		}
		return result
	case []any:
		result := make([]any, len(value))
		for index, item := range value {
			result[index] = p.guarded(item, guard)
		}
		return result
	case string:
		return p.guardedText(value, guard)
	case json.Number:
		if number, err := strconv.ParseInt(value.String(), 10, 64); err == nil {
			return number
		}
		if number, err := strconv.ParseUint(value.String(), 10, 64); err == nil {
			return number
		}
		number, _ := value.Float64()
		return number
	default:
		return value
	}
}

func (p *pipeline) guardedText(text string, guard func(string) string) string {
	if guard == nil {
		return text
	}
	left, right := p.delimiters()
	var result strings.Builder
	// Behind a byte order mark in first place yaml.v3 escapes everything, actions included.
	if rest, found := strings.CutPrefix(text, "\ufeff"); found {
		text = "\ufffe" + rest
	}
	for {
		start := strings.Index(text, left)
		if start < 0 {
			break
		}
		length := actionLength(text[start:], left, right)
		if length < 0 {
			break
		}
		result.WriteString(text[:start] + guard(text[start:start+length]))
		text = text[start+length:]
	}
	return result.String() + text
}

// actionLength is how long the action is that a text begins with: to its end, not counting what
// stands in strings and comments. It is negative when there is no end.
func actionLength(text, left, right string) int {
	at := len(left)
	if strings.HasPrefix(strings.TrimLeft(strings.TrimPrefix(text[at:], "-"), " \t\r\n"), "/*") {
		comment := strings.Index(text, "*/")
		if comment < 0 {
			return -1
		}
		at = comment + 2
	}
	for at < len(text) {
		if strings.HasPrefix(text[at:], right) {
			return at + len(right)
		}
		quote := text[at]
		at++
		if quote != '"' && quote != '\'' && quote != '`' {
			continue
		}
		for at < len(text) && text[at] != quote {
			if text[at] == '\\' && quote != '`' {
				at++
			}
			at++
		}
		at++
	}
	return -1
}

func encodeYaml(value any) (string, error) {
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(value); err != nil {
		return "", err
	}
	return out.String(), encoder.Close()
}

func (p *pipeline) parse(text string) (*template.Template, error) {
	left, right := p.delimiters()
	text = p.autoindent(p.dataTypes(text))
	var quoted [][2]int
	for place := strings.Index(text, apostrophe); place >= 0; place = strings.Index(text, apostrophe) {
		text = strings.Replace(text, apostrophe, "'", 1)
		quoted = append(quoted, [2]int{place, place})
	}
	functions := documentFunctions(p.Indent)
	functions["doubled"] = func(value any) string {
		if value == nil {
			return "<no value>"
		}
		return strings.ReplaceAll(fmt.Sprint(value), "'", "''")
	}
	t, err := template.New("tmpl").Delims(left, right).Funcs(functions).Parse(text)
	if err != nil {
		return nil, err
	}
	// What the actions print whose apostrophes are the author's is within single quotes.
	for index, place := range quoted {
		for from := 0; from <= place[0]; {
			start := from + strings.Index(text[from:], left)
			from = start + actionLength(text[start:], left, right)
			quoted[index] = [2]int{start, from}
		}
	}
	for _, defined := range t.Templates() {
		double(defined.Root, quoted)
	}
	return t, nil
}

func double(node parse.Node, quoted [][2]int) {
	branch := func(branch *parse.BranchNode) {
		double(branch.List, quoted)
		if branch.ElseList != nil {
			double(branch.ElseList, quoted)
		}
	}
	switch node := node.(type) {
	case *parse.ListNode:
		for _, child := range node.Nodes {
			double(child, quoted)
		}
	case *parse.IfNode:
		branch(&node.BranchNode)
	case *parse.RangeNode:
		branch(&node.BranchNode)
	case *parse.WithNode:
		branch(&node.BranchNode)
	case *parse.ActionNode:
		for _, place := range quoted {
			if int(node.Pos) >= place[0] && int(node.Pos) < place[1] && len(node.Pipe.Decl) == 0 {
				function := parse.NewIdentifier("doubled").SetPos(node.Pos)
				node.Pipe.Cmds = append(node.Pipe.Cmds, &parse.CommandNode{NodeType: parse.NodeCommand, Pos: node.Pos, Args: []parse.Node{function}})
				return
			}
		}
	}
}

func (p *pipeline) dataTypes(text string) string {
	left, right := p.delimiters()
	action := regexp.QuoteMeta(left) + `-?(?:.*\|\s*(?:toInt|toBool|toLiteral)|.*(?:copyConfigMapData|copySecretData)).*` + regexp.QuoteMeta(right)
	start := `:\s+(?:[|>]-?\s+)?`
	plain := regexp.MustCompile(start+`'?\s*(`+action+`)\s*'?`).ReplaceAllString(text, ": ${1}")
	if !p.mends {
		return plain
	}
	// White space goes only with the quote that ends it.
	pattern := regexp.MustCompile(start + `(?:'\s*(` + action + `)\s*'?|` + action + `)`)
	mended := pattern.ReplaceAllStringFunc(text, func(match string) string {
		if found := pattern.FindStringSubmatch(match); found[1] != "" {
			return ": " + strings.ReplaceAll(found[1], apostrophe, "'")
		}
		return ": " + match[strings.Index(match, left):]
	})
	if strings.ReplaceAll(mended, apostrophe, "'") != strings.ReplaceAll(plain, apostrophe, "'") {
		p.touch(1)
	}
	return mended
}

func (p *pipeline) autoindent(text string) string {
	left, right := p.delimiters()
	pattern := regexp.MustCompile(`( *)['"]?(` + regexp.QuoteMeta(left) + `.*\| *autoindent *-?` + regexp.QuoteMeta(right) + `)`)
	result := text
	for _, found := range pattern.FindAllStringSubmatch(text, -1) {
		indented := strings.Replace(found[2], "autoindent", fmt.Sprintf("indent %d", len(found[1])-p.Indent), 1)
		result = strings.Replace(result, found[2], indented, 1)
	}
	return result
}

func documentFunctions(indent int) template.FuncMap {
	functions := sprig.TxtFuncMap()
	for upper, lower := range map[string]string{
		"fromJSON": "fromJson", "mustFromJSON": "mustFromJson", "toJSON": "toJson", "mustToJSON": "mustToJson",
		"toRawJSON": "toRawJson", "mustToRawJSON": "mustToRawJson",
	} {
		functions[upper] = functions[lower]
	}
	toYaml := func(value any) (string, error) {
		text, err := encodeYaml(value)
		return strings.TrimSuffix(text, "\n"), err
	}
	fromYaml := func(text string) (value any, err error) {
		return value, yaml.Unmarshal([]byte(text), &value)
	}
	maps.Copy(functions, template.FuncMap{
		"base64enc": functions["b64enc"],
		"base64dec": functions["b64dec"],
		"toYaml":    toYaml,
		"toYAML":    toYaml,
		"fromYaml":  fromYaml,
		"fromYAML":  fromYaml,
		"indent": func(spaces int, text string) string {
			pad := strings.Repeat(" ", spaces+indent)
			return strings.TrimSpace("\n" + pad + strings.ReplaceAll(text, "\n", "\n"+pad))
		},
		"autoindent": func(string) (string, error) {
			return "", errors.New("an unexpected error occurred where autoindent could not be processed")
		},
		"atoi": func(text string) int {
			number, _ := strconv.Atoi(text)
			return number
		},
		"toInt": func(value any) int { return cast.ToInt(value) },
		"toBool": func(text string) bool {
			value, _ := strconv.ParseBool(text)
			return value
		},
		"toLiteral": func(text string) (string, error) {
			if strings.Contains(text, "\n") {
				return "", errors.New("new lines are not allowed in the string passed to the toLiteral function")
			}
			return text, nil
		},
		"protect": func(string) (string, error) {
			return "", errors.New("the protect template function is not enabled in this mode")
		},
	})
	maps.Copy(functions, worldFunctions())
	for _, name := range []string{"env", "expandenv"} {
		functions[name] = func(...any) (any, error) {
			return nil, fmt.Errorf("use of denylisted template function: function '%s' is considered a security risk", name)
		}
	}
	return functions
}

func wholeDocuments(seed int64, count int) error {
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	counts := map[string]int{}
	seen := map[string]bool{}
	write := func(d *wholeDocument) error {
		key := fmt.Sprint(d.Yaml, d.Hub, d.Indent, d.Context, d.Input)
		if seen[key] || !utf8.ValidString(d.Input) || strings.Contains(d.Input, inputMark) {
			return nil
		}
		seen[key] = true
		if d.Output == nil && d.Error == nil {
			if err := d.resolve(); err != nil {
				return err
			}
		}
		counts[d.class()]++
		for _, edge := range d.Edges {
			counts[fmt.Sprintf("edge %d", edge)]++
		}
		line := &bytes.Buffer{}
		encoder := json.NewEncoder(line)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(d); err != nil {
			return err
		}
		_, err := out.Write(line.Bytes())
		return err
	}
	for _, d := range documentTable() {
		if err := write(d); err != nil {
			return err
		}
	}
	if err := randomDocuments(seed, count, write); err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, counts)
	return nil
}

// class says how far a document came.
func (d *wholeDocument) class() string {
	switch {
	case d.Error == nil:
		return "resolved"
	case strings.HasPrefix(*d.Error, "failed to parse"):
		return "not parsed"
	case strings.HasPrefix(*d.Error, "failed to resolve"):
		return "not executed"
	default:
		return "not converted"
	}
}
