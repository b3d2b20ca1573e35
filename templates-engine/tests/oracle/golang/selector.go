package main

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
)

func init() {
	programs["selector"] = selector
}

// selectorCase is one label selector with its error, or whether each label set fits.
type selectorCase struct {
	Selector string  `json:"s"`
	Error    *string `json:"e,omitempty"`
	Matches  []bool  `json:"m,omitempty"`
}

// selectorLabels are the label sets of every case; the Rust side has the same.
var selectorLabels = []labels.Set{
	{}, {"a": "b"}, {"a": "c", "x": "1"}, {"env": "prod", "tier": "5"}, {"x/y": "z", "a": ""}, {"tier": "12"},
}

func selector() error {
	texts := []string{
		"", " ", "a", "!a", "a=b", "a==b", "a!=b", "a in (b,c)", "a notin (b)", "a in ()", "a in (", "a in", "a in b", "a IN (b)",
		"a,b", "a,", ",a", "a b", "a=", "a==", "a=,x", "a in (,)", "a in (b,)", "a in (,b)", "a in (b c)", "tier>4", "tier<4", "tier>a", "tier>", "tier gt 4",
		"a=b,c=d", "a=b c=d", "!a=b", "!", "!!a", "()", "a=(b)", "a=b=c", "a~b", "-a", "a-", "a=-b", "x/y=z", "/y", "x/", "x/y/z", "X/y", "x_/y", "a=b/c", "é", "a=é",
		"in", "notin", "in in (in)", "in=in", "a in (in,notin)", "a=in", "a notin (b,b,a)", "a=b,", "a,,b", "a in (b),x", "tier>4,tier<20", "a>1.5", "a=1.5", "a in (b)x", "a!b", "a!=", "=b", "==", "> 5", "a<b<c",
		"a=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "\ta = b ", "a\n=\nb",
		"a\r=\rb", "a\v=b", "a\f=b", "a\u00a0=b", "a=\u2003b", "\u3000a", "a=\u0085b", "a=b\u2028", "a=\"b\"", "\"a\"", "a=\\b", "a=\ab", "a=\x01", "a=\x7f", "a=\u200b",
		"a=😀", "a=\U000e0001", "tier>\v5", "a in (b\u00a0c)", "a=\x00b", "a\x00b", "a\x00=b", "a \x00=b", "\x00a", "a=b\x00\x00c",
		strings.Repeat("y", 254) + "/a", strings.Repeat("Y", 254) + "/-", strings.Repeat("y", 64) + ".y/a", "a in (-,b-)",
	}
	random := rand.New(rand.NewSource(3))
	pieces := []string{"a", "env", "b", "tier", "x/y", "=", "==", "!=", "!", ",", " in ", " notin ", "(", ")", ">", "<", "4", " ", "prod", "-"}
	for range 400 {
		text := ""
		for range 1 + random.Intn(7) {
			text += pieces[random.Intn(len(pieces))]
		}
		texts = append(texts, text)
	}
	cases := []selectorCase{}
	for _, text := range texts {
		c := selectorCase{Selector: text}
		parsed, err := labels.Parse(text)
		if err != nil {
			message := fmt.Sprint(err)
			c.Error = &message
		} else {
			for _, set := range selectorLabels {
				c.Matches = append(c.Matches, parsed.Matches(set))
			}
		}
		cases = append(cases, c)
	}
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetEscapeHTML(false)
	for _, c := range cases {
		if err := encoder.Encode(c); err != nil {
			return err
		}
	}
	return nil
}
