package main

import "fmt"

var patterns = []string{
	`a(`, `a)`, `)`, `(`, `[`, `[a`, `[]`, `[]a]`, `[^]a]`, `[z-a]`, `[a-\d]`, `[\d-z]`, `a**`, `a*?*`, `a*??`, `a++`, `a{2}{3}`, `a{2}*`, `*`, `+a`, `?`, `(*)`, `(|*)`, `a|*`, `(?i)*`, `a(?i)*`, `x{2,1}`, `x{1001}`, `x{1000}`, `(x{100}){11}`, `(x{10}){100}`, `x{,5}`, `x{`, `x{1`, `x{1,`, `x{a}`, `x{01}`, `x{1,02}`, `x{99999999999}`,
	`\`, `a\`, `\8`, `\1`, `\12`, `\123`, `\0`, `\08`, `\C`, `\Z`, `\z`, `\A`, `\b`, `\B`, `\Q.+\E`, `\Qab`, `\Q\E`, `\Qa\Eb*`, `\Qab\E*`, `\x`, `\x4`, `\x41`, `\x4g`, `\x{41}`, `\x{}`, `\x{110000}`, `\x{1F600}`, `\x{4`, `\e`, `\é`, `\_`, `\-`, `\a\f\n\r\t\v`, `\p`, `\pL`, `\p{L`, `\p{Greek}`, `\p{greek}`, `\P{Greek}`, `\p{^Greek}`, `\p{Nope}`, `\pX`, `[\pL]`, `[\p{Lu}x]`, `[^\p{Lu}]`, `\p{Old_Italic}`, `\p{Letter}`, `\p{Lowercase_Letter}`, `\p{Alphabetic}`, `\p{Any}`, `\p{Latin}`, `\p{Han}`, `\p{Latn}`, `\p{}`, `\p{Script=Greek}`,
	`[[:alpha:]]`, `[[:^alpha:]]`, `[[:nope:]]`, `[:alpha:]`, `[[:alpha:]`, `[[:word:]-]`, `[a-]`, `[-a]`, `[a\-z]`, `[\]]`, `[\^a]`, `[a^]`, `[^^]`, `[\x41-\x43]`, `[^\x00-\x7f]`, `[a-cx-z]`, `[\d\s]`, `[^\D]`, `[\W_]`, `[\b]`, `[\Q]`, `[é-ü]`, `[&&a]`, `[a--b]`, `[~~]`, `[[a]]`, `[a&&b]`,
	`(?i)abc`, `(?i:A)b`, `(?i)É`, `(?i)[a-c]`, `(?i)[^a]`, `(?i)k`, `(?i)ſ`, `(?i)\w+`, `(?i)ß`, `(?s).`, `(?s).+`, `.`, `.+`, `(?m)^a$`, `^a$`, `^`, `$`, `(?m)^`, `(?m)$`, `(?-i)a`, `(?i-s)A.`, `(?i-)a`, `(?-)a`, `(?)a`, `(?`, `(?i`, `(?z)`, `(?x)a`, `(?=a)`, `(?!a)`, `(?<=a)`, `(?<n>a)`, `(?P<n>a)`, `(?P<n>a)(?P<n>b)`, `(?P<1n>a)`, `(?P<>a)`, `(?P<n a>a)`, `(?P<n`, `(?P=n)`, `(?P>n)`, `(?'n'a)`, `(?#c)`, `(?:a|b)+`, `(?U)a+`, `(?U)a+?`, `a+?`, `a??`, `(a+)(b*)`, `(a|ab)(c|bcd)`, `(a*)*`, `(a*)+`, `(|a)*`, `(a|)+`, `()`, ``, `|`, `a|`, `|a`, `(a|b)|c`, `x*`, `a*`, `b*|a`, `\d+`, `\D`, `\s`, `\S+`, `\w+`, `\W`, `z+`, `a{2,}`, `a{0}`, `a{0,1}`, `a{2,3}?`, `^a|b$`, `日`, `[日-本]`, `\bfoo\b`, `\Boo`, `(?i)\bFOO`, `\$1`, `}`, `]`, `{`, `a{,2}`, `\.`, "a\nb", `\/`, `"`, `'`, "`", `\pN+`, `\p{Sc}`, `[[:punct:]]+`, `(?i)σ`, `(?i)[[:upper:]]+`, `(?i)\p{Lu}+`, `(?i)\P{Lu}+`, `[^\n]`, `\x{D800}`, `[\x{D800}-\x{DFFF}]`, `[\x{D7FF}-\x{E000}]`, `(((((((((((a)))))))))))`, `\Q`, `a\Q`, `(?i)\QaB\E`, `\d{3}-\d{4}`, `(\w+)@(\w+)\.com`, `(?:(?:a{2}){3}){4}`, `((a{100}){10}){0}`, `((a{0}){1000}){1000}`, `\ufffd`, "\ufffd",
}

var subjects = []string{
	"", "a", "aaa", "abcabc", "foo bar baz", "héllo wörld", "日本語 text", "a\nb\na", "-ab-axxb-", "x@y.com 555-1234", "ABC é É ß ſ K", `a$1b\`, "σςΣ", "$5 €6", "a]b}c{",
}

func sprigRegexes() []string {
	var texts []string
	add := func(function string, arguments ...string) { texts = append(texts, calls(function, arguments...)...) }
	for number, pattern := range patterns {
		subject := subjects[(number*7+3)%len(subjects)]
		other := subjects[(number*5+1)%len(subjects)]
		for _, text := range []string{subject, other} {
			add("regexFindAll", fmt.Sprintf("%q %q -1", pattern, text))
			add("regexReplaceAll", fmt.Sprintf("%q %q %q", pattern, text, "<$0|${1}>"))
		}
		add("mustRegexFind", fmt.Sprintf("%q %q", pattern, subject))
		add("regexMatch", fmt.Sprintf("%q %q", pattern, other))
		add("regexSplit", fmt.Sprintf("%q %q -1", pattern, other))
	}
	for _, subject := range subjects {
		for _, pattern := range []string{``, `a*`, `\b`, `\B`, `.`, `x*|b`, `[^a]`, `(?s).`, `$`, `^`, `(?m)$`, `a|$`} {
			add("regexFindAll", fmt.Sprintf("%q %q -1", pattern, subject), fmt.Sprintf("%q %q 2", pattern, subject))
			add("regexReplaceAll", fmt.Sprintf("%q %q %q", pattern, subject, "[$0]"))
			add("regexReplaceAllLiteral", fmt.Sprintf("%q %q %q", pattern, subject, "$0"))
			add("regexSplit", fmt.Sprintf("%q %q -1", pattern, subject), fmt.Sprintf("%q %q 2", pattern, subject), fmt.Sprintf("%q %q 1", pattern, subject))
		}
	}
	for _, replacement := range []string{"$1W", "${1}W", "$$", "$", "$$1", "${", "${}", "${1", "$x", "${n}", "$n", "$nx", "$1$2", "$01", "$10", "${01}", "$-", "a$", "$é", "$_", "${n}${m}", "$999999999999", "\\1", "$0$0"} {
		add("regexReplaceAll", fmt.Sprintf("%q %q %q", `(?P<n>a)(x*)b`, "-ab-axxb-", replacement))
		add("mustRegexReplaceAll", fmt.Sprintf("%q %q %q", `(a)|(?P<n>b)`, "ab", replacement))
		add("mustRegexReplaceAllLiteral", fmt.Sprintf("%q %q %q", `(a)|(?P<n>b)`, "ab", replacement))
	}
	for _, pattern := range []string{`.`, `[^a]`, `\x{fffd}`, `^.$`, `^..$`, `\W`, `é`, ``, `(?s).+`, `.a`, `[\x{80}-\x{10ffff}]`} {
		for _, encoded := range []string{"/w==", "Yf9i", "w6n/", "//9h", "4oI=", "7aCA"} {
			add("regexFindAll", fmt.Sprintf("%q (b64dec %q) -1", pattern, encoded))
			add("regexReplaceAll", fmt.Sprintf("%q (b64dec %q) %q", pattern, encoded, "<$0>"))
			add("regexSplit", fmt.Sprintf("%q (b64dec %q) -1", pattern, encoded))
		}
	}
	for _, function := range []string{"regexFind", "mustRegexFind", "regexMatch", "mustRegexMatch"} {
		add(function, `(b64dec "Yf9i") "a"`, `(b64dec "W/9d") "a"`, `(b64dec "KD88/z4=") "a"`, "\"a`(\" \"b\"", `"a\x01(" "b"`, `"a(" "b"`, `"a" 5`, `"a"`)
	}
	for _, count := range []int{-2, -1, 0, 1, 2, 3, 10} {
		add("regexFindAll", fmt.Sprintf(`"[a-z]" "abc" %d`, count))
		add("mustRegexFindAll", fmt.Sprintf(`"[a-z]" "abc" %d`, count), fmt.Sprintf(`"x" "abc" %d`, count))
		add("regexSplit", fmt.Sprintf(`"z+" "pizza" %d`, count), fmt.Sprintf(`"" "pizza" %d`, count), fmt.Sprintf(`"z" "" %d`, count), fmt.Sprintf(`"" "" %d`, count), fmt.Sprintf(`"p" "pizza" %d`, count), fmt.Sprintf(`"a" "pizza" %d`, count))
		add("mustRegexSplit", fmt.Sprintf(`"z+" "pizza" %d`, count))
	}
	add("regexQuoteMeta", `"1.2.3[a](b){c}^$|?*+\\é-/"`, `""`, `(b64dec "/w==")`)
	texts = append(texts, `{{ regexFindAll "x" "abc" -1 | toJson }} {{ regexFindAll "x" "abc" -1 | typeOf }} {{ regexSplit "x" "abc" 0 | toJson }}`)
	return texts
}
