package main

import "fmt"

// sprigTable is what was thought of by hand.
func sprigTable() []string {
	var texts []string
	add := func(function string, arguments ...string) { texts = append(texts, calls(function, arguments...)...) }
	add("hello", "", "1")
	add("trim", `"\u00a0 a\u2003\n"`, `"\v\fa\u0085"`, `(b64dec "IP8g")`, `""`, `"   "`)
	add("trimAll", `"$" "$5$"`, `"" "a"`, `"ab" ""`, `"é" "éaé"`, `"aé" "aéxéa"`, `(b64dec "/w==") (b64dec "/2H/")`, `"\ufffd" (b64dec "/2H/")`, `"ab" "abcba"`)
	add("trimall", `"-" "--a-"`)
	add("trimPrefix", `"a" "aab"`, `"" "x"`, `"ab" "a"`)
	add("trimSuffix", `"b" "abb"`, `"" "x"`)
	add("contains", `"" ""`, `"a" ""`, `"b" "abc"`)
	add("repeat", `3 "ab"`, `0 "x"`, `-1 "x"`, `5 ""`, `2 (b64dec "/w==")`)
	add("replace", `"a" "b" "banana"`, `"" "-" "añb"`, `"" "-" (b64dec "YP9h")`, `"" "" "ab"`, `"aa" "a" "aaaaa"`, `"x" "" "axb"`, `"" "x" ""`)
	add("trunc", `3 "héllo"`, `-3 "héllo"`, `0 "a"`, `-5 "abc"`, `-9223372036854775808 "abc"`, `9223372036854775807 "abc"`, `2 "é"`, `1 "é"`)
	for _, start := range []int{-2, 0, 1, 3, 5, 9} {
		for _, end := range []int{-3, 0, 2, 5, 8} {
			add("substr", fmt.Sprintf(`%d %d "hello"`, start, end))
		}
	}
	add("nindent", `2 "a\nb\n"`, `0 "a"`, `-1 "a"`, `1 ""`)
	add("plural", `"one" "many" 1`, `"one" "many" 0`, `"one" "many" -1`)
	add("upper", `"straße ŉ ǆ ᾳ ﬁ"`, `(b64dec "Yf9i")`, `"ı"`)
	add("lower", `"İSTANBUL ΑΣ Ǆ"`, `(b64dec "Qf9C")`)
	add("title", `"hello world-foo"`, `"o'neill x_y a.b éa ǆx"`, `"ǆ ა"`, `(b64dec "YSD/Yg==")`, `"a\u2003b 1a ª"`)
	add("untitle", `"Hello World"`, `"ÉA  BC"`, `(b64dec "Qf9C")`, `""`)
	add("swapcase", `"Hello wORLD x"`, `"ǅa ǆ éÉ"`, `"ªb 1a a1b"`, `(b64dec "Qf9i")`)
	for _, text := range []string{
		"http_server foo-bar", "_complex__case_", "GOLANG_IS_GREAT", "some words", "__", "-", "_", "a", "A", "no_https", "aB-cD", "HTTPServer", "FirstName", "NoHTTPS", "GO_PATH", "GO PATH",
		"GO-PATH", "http2xx", "HTTP20xOK", "Duration2m3s", "Bld4Floor3rd", "x-", "x_ y", "日本語Test", "ünïCode", "a1b2C3", "1ab", "A1", "ABC123", "ABC123def", "ABC123DEF", "a.b.c", "A.B", "foo..Bar", "Foo!Bar9", "  x  ",
		"éÉx", "½abc", "a½", "𠀀A", "x$y", "$X", "X$", "10K", "ΑΒγ", "UPPERlower", "aBC", "ABc", "A_1", "1_A", "a--b__c", "ID", "userID2", "Ⅷ", "v1.2.3", "_1", "1_", "a1", "a1_", "B4", "B4_c", "9Lives", "x9y8z7",
	} {
		for _, function := range []string{"camelcase", "snakecase", "kebabcase"} {
			add(function, fmt.Sprintf("%q", text))
		}
	}
	for _, function := range []string{"camelcase", "snakecase", "kebabcase", "initials", "nospace"} {
		add(function, `(b64dec "Qf9CYQ==")`, `(b64dec "/0FC/w==")`, `(b64dec "/w==")`, `(b64dec "YeEgYg==")`, `"\ufffda B"`)
	}
	add("initials", `"First Try"`, `"é ü x"`, `"a\u00a0b"`, `"日 本"`)
	add("nospace", `"a b\tc"`, `"é ü"`, `"éü"`, `"a\u00a0b"`)
	for _, width := range []int{-1, 0, 1, 3, 5, 10, 100} {
		for _, text := range []string{"Hello World of words", "averyveryverylongword and more", " lead", "a  b  c", "héllo wörld", "", "x y\nz w"} {
			add("wrap", fmt.Sprintf("%d %q", width, text))
			add("wrapWith", fmt.Sprintf("%d %q %q", width, "\n\t", text), fmt.Sprintf("%d %q %q", width, "", text))
		}
	}
	for _, width := range []int{-9, 0, 3, 4, 5, 7, 8, 10, 30} {
		add("abbrev", fmt.Sprintf(`%d "hello world and more"`, width), fmt.Sprintf(`%d "héé"`, width))
		for _, offset := range []int{-9223372036854775808, -1, 0, 1, 4, 5, 9, 15, 99} {
			add("abbrevboth", fmt.Sprintf(`%d %d "1234 5678 9123 4567"`, offset, width))
		}
	}
	add("quote", `"a" nil 1 "b\"c" 1.5 (list 1 "x")`, ``, `(b64dec "/w==")`, `"\u2028\u00e9\x01"`, `(dict "a" 1)`, `(semver "v1.2")`)
	add("squote", `"a" nil 1`, ``, `"it's"`, `(list "a")`)
	add("cat", `1 "b" nil 2`, ``, `nil`, `"" ""`, `" a " "b "`, `(list 1) (dict)`)
	add("toString", `nil`, `(b64dec "/w==")`, `1.0`, `(list 1 nil)`, `(semver "1")`, `true`, `1e6`, `(int64 7)`)
	add("toStrings", `(list 1 "a" nil 2.5)`, `nil`, `5`, `(until 3)`, `(dict "a" 1)`, `(splitList "," "a,b")`, `(rest (list))`)
	add("join", `"-" (list 1 nil "b")`, `"-" nil`, `"," 5`, `"," (splitList " " "a b")`, `"," (list)`, `"" (until 3)`)
	add("sortAlpha", `(list "b" 2 "a" nil 10)`, `"x"`, `nil`, `5`, `(dict)`, `(splitList "," "c,b")`, `(until 12)`)
	add("splitList", `"," "a,,b"`, `"" "aéb"`, `"" (b64dec "Yf9i")`, `"" ""`, `"," ""`, `"aa" "aaaaa"`)
	add("split", `"," "a,b"`, `"" "éx"`, `"," ""`, `"" ""`)
	for _, count := range []int{-1, 0, 1, 2, 3, 9} {
		add("splitn", fmt.Sprintf(`"," %d "a,b,c,d"`, count), fmt.Sprintf(`"" %d "aéb"`, count), fmt.Sprintf(`"" %d ""`, count), fmt.Sprintf(`"," %d ""`, count))
	}
	texts = append(texts, sprigNumbers()...)
	texts = append(texts, sprigCollections()...)
	texts = append(texts, sprigDates()...)
	texts = append(texts, sprigOthers()...)
	return texts
}

func sprigNumbers() []string {
	var texts []string
	add := func(function string, arguments ...string) { texts = append(texts, calls(function, arguments...)...) }
	for _, text := range []string{
		"1.5", "1.0", "010", "0x1F", "0b11", "1_000", "+3", "007", "08", "abc", "", " 5", "1e3", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809", "0o17", "1__0", "_1", "1_", "0x_1F", "0_7",
		".5", "-.5", "+.", ".", "-", "1.2.3", "1.a", "0x1.8", "12.", "-0", "0x", "１", "inf", "NaN", "-Infinity", "1e400", "1e-400", "0x1p-2", "0x1.8p1", "0x1", "1_0.5", "1e1_0", "0X1P+3", "1e", "0x.p1", "5e-324", "0x1p-1074", "0x1.fffffffffffff8p0", "0x1p99999", "+1.5", "--1", "1d", "infinit", "+inf", "0b1.1", "00.5", "0_1.5", "0x1_0p0", "true", "null",
	} {
		add("int", fmt.Sprintf("%q", text))
		add("int64", fmt.Sprintf("%q", text))
		add("float64", fmt.Sprintf("%q", text))
		add("toDecimal", fmt.Sprintf("%q", text))
	}
	for _, value := range []string{"nil", "true", "false", "1.9", "-1.9", "1e19", "-1e19", "1e300", "(list 1)", `(dict "a" 1)`, "(int64 3)", `(semver "1.2.3").Minor`, `(semver "1.2.3")`, `(toDate "2006" "2020").Month`, `(toDate "2006" "2020").Weekday`, `(toDate "2006" "2020")`, "(divf 0.0 1.0)", `(float64 "nan")`, `(float64 "inf")`, "777", "0777", `((toDate "2006" "2020").Sub (toDate "2006" "2019"))`, `(index "abc" 1)`} {
		for _, function := range []string{"int", "int64", "float64", "toDecimal", "ceil", "floor", "add1", "add1f", "maxf", "min", "toString", "empty", "kindOf", "typeOf"} {
			add(function, value)
		}
	}
	for _, function := range []string{"add", "sub", "mul", "div", "mod", "max", "min", "biggest", "addf", "subf", "mulf", "divf", "maxf", "minf"} {
		add(function, "7 3", "-7 3", "7 -3", "1 0", `"8" "2"`, "1.9 1.9", "9223372036854775807 1", "-9223372036854775808 -1", "nil 5", "0.1 0.2", "1 3", "2 3", "-2 3", "1e308 10", "1e-308 1e-308", "0 5", "1.5 -0.5", "100 7 3", "10 3 3 3", `(float64 "nan") 1`, `1 (float64 "inf")`, `(float64 "-inf") 1`, "-0.0 0", "0 -0.0", "5e-324 3", "123456789.123456789 1000", "1e22 1", "1e23 1")
	}
	add("add", "", "1", "1 2 3 4")
	add("mul", "5", "2 3 4")
	add("addf", "", "1.1", "0.1 0.2 0.3")
	add("divf", "1", "10 4", "1 7", "22 7", "-22 7", "1e-10 3", "5 1e20", "0.5 1e16", "1.5 1e16")
	for _, places := range []int{-400, -2, -1, 0, 1, 2, 5, 15, 20, 22, 23, 30, 308, 309, 400} {
		for _, value := range []string{"0", "2.5", "-2.5", "123.5555", "-123.4", "0.3750000000005", "1e20", `"12.345"`} {
			add("round", fmt.Sprintf("%s %d", value, places), fmt.Sprintf("%s %d 0.7", value, places))
		}
	}
	add("until", "0", "5", "-2", `"5"`, "2.0", "(add 1 2)", "1.5")
	for _, start := range []int{-2, 0, 5} {
		for _, stop := range []int{-3, 0, 4} {
			for _, step := range []int{-2, -1, 0, 1, 3} {
				add("untilStep", fmt.Sprintf("%d %d %d", start, stop, step))
				add("seq", fmt.Sprintf("%d %d %d", start, step, stop))
			}
			add("seq", fmt.Sprintf("%d %d", start, stop))
		}
	}
	add("seq", "", "0", "1", "5", "-3", "1 2 3 4", "0 2 10", "5 -1 0")
	return texts
}

func sprigCollections() []string {
	var texts []string
	add := func(function string, arguments ...string) { texts = append(texts, calls(function, arguments...)...) }
	for _, prefix := range []string{"%s", "must%s"} {
		for _, name := range []string{"first", "last", "rest", "initial", "reverse", "uniq", "compact"} {
			function := name
			if prefix != "%s" {
				function = "must" + string(name[0]-32) + name[1:]
			}
			add(function, "(list 1 2 3)", "(list)", "nil", `"abc"`, "5", `(dict "a" 1)`, `(splitList "," "a,b,a,")`, "(until 3)", "1.5", "true", `(semver "1")`, `(toDate "2006" "2020")`, "(rest (list))", "(list nil 0 \"\" false (list) (dict) 0.0)", "(list 1 (int64 1) 1.0 \"1\" 1)", "(list (list 1) (list 1) (dict \"a\" 1) (dict \"a\" 1))", "(chunk 2 (list 1 2 3))")
			texts = append(texts, fmt.Sprintf(`{{ %s (splitList "," "a,b") | typeOf }} {{ %s (list) | typeOf }} {{ %s (list 1 2) | toJson }} {{ %s (list) | toJson }}`, function, function, function, function))
		}
	}
	for _, function := range []string{"append", "push", "prepend", "mustAppend", "mustPush", "mustPrepend"} {
		add(function, "(list 1) 2", "(list) nil", "nil 1", `"a" 1`, `(splitList "," "a") 5`, "(until 2) \"x\"", "(dict) 1", "(list 1) (list 2)")
	}
	add("concat", "", "(list)", "(list 1) (list 2 3)", "(list 1) nil", `(list 1) "x"`, `(splitList "," "a,b") (until 2)`, "(list) (list)", "5", "(dict)")
	texts = append(texts, `{{ concat | toJson }} {{ concat (list) | typeOf }} {{ concat (list) | toJson }}`, `{{ kindIs "slice" (concat) }}`)
	for _, function := range []string{"without", "mustWithout"} {
		add(function, "(list 1 2 3) 2", "(list 1 2) (int64 1)", "nil 1", `"a"`, "(list 1 2)", "(list nil 1) nil", "(list (list 1) 2) (list 1)", `(splitList "," "a,b") "a"`)
	}
	for _, function := range []string{"has", "mustHas"} {
		add(function, "1 (list 1)", "(int64 1) (list 1)", "1 nil", `"a" "abc"`, `"a" (splitList "," "a")`, "nil (list nil)", "(list) (list (list))", "1 (dict)", "nil nil", `5 (fromJson "[5]")`, `5.0 (fromJson "[5]")`)
	}
	for _, function := range []string{"chunk", "mustChunk"} {
		for _, size := range []int{-3, -2, -1, 0, 1, 2, 3, 7} {
			add(function, fmt.Sprintf("%d (list)", size), fmt.Sprintf("%d (list 1)", size), fmt.Sprintf("%d (list 1 2)", size), fmt.Sprintf("%d (list 1 2 3)", size), fmt.Sprintf("%d (list 1 2 3 4)", size))
		}
		add(function, "2 nil", `2 "abc"`, `1 (splitList "," "a,b")`, "2 (dict)", "9223372036854775807 (list 1 2)")
	}
	for _, function := range []string{"slice", "mustSlice"} {
		add(function, "(list 1 2 3)", "(list 1 2 3) 1", "(list 1 2 3) 1 2", "(list 1 2 3) 2 1", "(list 1 2 3) -1", "(list 1 2 3) 0 4", "(list 1 2 3) 4", "(list 1 2 3) 3", "nil", `"abc"`, "(list)", `(splitList "," "a,b,c") 1`, `(list 1 2 3) "1" "2"`, "(list 1 2 3) 1.9", "(list 1 2 3) nil nil", "(list 1 2) 0 1 2", "(list) 5 6", "(dict) 1")
	}
	add("list", "", "1", "nil", "1 nil \"a\"", "(list 1) (list 2)")
	add("tuple", "", "1 2")
	add("dict", "", `"a"`, `"a" 1 "b"`, "1 2", "nil 3", `(list 1) 2`, `"a" 1 "a" 2`, "1.5 2", "true false", `"x" nil`)
	add("get", `(dict "a" 1) "a"`, `(dict "a" 1) "b"`, `nil "a"`, `(dict "a" nil) "a"`, `(split "," "a") "_0"`, `(list) "a"`, `"x" "a"`)
	add("set", `(dict) "a" 1`, `nil "a" 1`, `(dict "a" 1) "a" nil`, `(dict) 1 2`)
	add("unset", `(dict "a" 1) "a"`, `nil "a"`, `(dict "a" 1) "b"`)
	add("hasKey", `(dict "a" nil) "a"`, `(dict) "a"`, `nil "a"`)
	add("pluck", `"a"`, `"a" (dict "a" 1) (dict "b" 2) (dict "a" nil)`, `"a" nil`, `"a" (dict) 5`)
	add("keys", "", "(dict)", `(dict "a" 1)`, `(dict "a" 1) (dict "b" 2)`, "nil", "5")
	add("values", "(dict)", `(dict "a" 1)`, `(dict "a" nil)`, "nil")
	add("pick", `(dict "a" 1 "b" 2) "a" "c"`, `(dict "a" 1)`, `nil "a"`, `(dict "a" nil) "a"`, `(dict) 1`)
	add("omit", `(dict "a" 1 "b" 2) "a" "c"`, `(dict "a" 1)`, `nil "a"`)
	add("dig", "", "1", `"a" 1`, `"a" "d" (dict)`, `"a" "d" (dict "a" 1)`, `"a" "b" "d" (dict "a" 1)`, `"a" "b" "d" (dict "a" (dict "b" 2))`, `"a" "b" "d" (dict "a" nil)`, `1 "d" (dict)`, `"a" "d" 5`, `"a" "d" nil`, `"a" "d" (split "," "x")`, `"a" "b" "d" (dict "a" (split "," "x"))`, `"a" "b" "c" nil (dict "a" (dict))`, `nil "d" (dict)`)
	merges := []string{
		`(dict "a" "" "b" 0) (dict "a" "z" "b" 5)`, `(dict "a" 1) (dict "a" "")`, `(dict) (dict "a" 1)`, `(dict "a" 1)`, `nil (dict "a" 1)`, `(dict "a" 1) nil`, `nil nil`,
		`(dict "a" (dict "x" 1)) (dict "a" (dict "x" 2 "y" 3))`, `(dict "a" (dict)) (dict "a" (dict "y" 3))`, `(dict "a" "s") (dict "a" (dict "y" 3))`, `(dict "a" (dict "y" 3)) (dict "a" "s")`,
		`(dict "a" (list 1)) (dict "a" (list 2 3))`, `(dict "a" (list)) (dict "a" (list 2))`, `(dict "a" (list 1)) (dict "a" (list))`, `(dict "a" "s") (dict "a" (list 1))`, `(dict "a" (list 1)) (dict "a" "s")`,
		`(dict "a" nil) (dict "a" 1)`, `(dict "a" 1) (dict "a" nil)`, `(dict "a" nil) (dict "a" (dict "b" 1))`, `(dict "a" (dict "b" 1)) (dict "a" nil)`, `(dict "a" nil) (dict "a" (list 1))`,
		`(dict "a" true) (dict "a" false)`, `(dict "a" false) (dict "a" true)`, `(dict "a" 0.0) (dict "a" 2)`, `(dict "a" (split "," "x")) (dict "a" (split "," "y,z"))`, `(dict "a" (split "," "x")) (dict "a" (dict "q" 1))`,
		`(dict "a" (dict "q" 1)) (dict "a" (split "," "y"))`, `(dict "a" (semver "1.0.0")) (dict "a" (dict))`, `(dict "a" (dict "b" (dict "c" 1))) (dict "a" (dict "b" (dict "d" 2)) "e" 5)`,
		`(dict "a" 1) (dict "b" 2) (dict "c" 3 "a" 9)`, `(dict "a" (list 1)) (dict "a" (splitList "," "x"))`, `(dict "a" (toDate "2006" "2020")) (dict "a" 5)`, `(dict "a" 5) (dict "a" (toDate "2006" "2020"))`, `(dict "a" "") (dict "a" (dict))`,
		`(dict "a" (dict "b" (list 1 2))) (dict "a" (dict "b" (list 3)))`, `(dict "a" (dict "b" "")) (dict "a" (dict "b" "x" "c" nil))`, `5 (dict)`, `(dict) 5`, `(split "," "a") (dict)`,
	}
	for _, function := range []string{"merge", "mergeOverwrite", "mustMerge", "mustMergeOverwrite"} {
		add(function, merges...)
		add(function, "")
		texts = append(texts,
			fmt.Sprintf(`{{ $a := dict "n" (dict "x" 1) }}{{ $b := dict "n" (dict "y" 2) "m" (dict "z" 1) }}{{ $_ := %s $a $b }}{{ $_ := set $b.m "q" 5 }}{{ $_ := set $b.n "q" 5 }}{{ $a }}{{ $b }}`, function),
			fmt.Sprintf(`{{ $a := dict }}{{ %s $a (dict "k" 1) | typeOf }}{{ $a }}`, function),
			fmt.Sprintf(`{{ $a := dict "x" 1 }}{{ %s $a $a }}`, function))
	}
	texts = append(texts,
		`{{ $a := dict "n" (dict "x" 1) }}{{ $b := deepCopy $a }}{{ $_ := set $b.n "x" 9 }}{{ $a }}{{ $b }}`,
		`{{ $d := dict "b" 1 "a" 2 }}{{ keys $d | sortAlpha }}{{ values (pick $d "a") }}`,
		`{{ $d := dict "a" 1 }}{{ $_ := set $d "k" "v" }}{{ $d }}{{ $_ := unset $d "a" }}{{ $d }}`)
	for _, function := range []string{"deepCopy", "mustDeepCopy"} {
		add(function, "nil", "5", `"a"`, "(list 1 nil)", "(list)", "(rest (list))", `(dict "a" nil)`, `(split "," "a")`, `(semver "1.2")`, `(toDate "2006" "2020")`, "1.5", "true", "(until 2)", "(chunk 1 (list 1))")
		texts = append(texts, fmt.Sprintf(`{{ %s (rest (list)) | toJson }} {{ %s (list) | toJson }} {{ %s (split "," "a") | typeOf }} {{ %s (until 2) | typeOf }} {{ %s (semver "1.2") | typeOf }} {{ %s (dict "a" (list)) | toJson }}`, function, function, function, function, function, function))
	}
	values := []string{"nil", "0", "1", `""`, `"a"`, "false", "true", "0.0", "1.5", "(list)", "(list 0)", "(dict)", `(dict "a" 1)`, "(rest (list))", `(semver "1")`, `(toDate "x" "y")`, "(int64 0)", `(split "" "")`, "(concat)", `((toDate "2006" "2020").Sub (toDate "2006" "2020"))`, `(index "a" 0)`, `(semver "0.1").Major`}
	for _, value := range values {
		add("empty", value)
		add("default", `"d" `+value)
		add("coalesce", "nil "+value+" 7")
		add("all", "1 "+value)
		add("any", "0 "+value)
		add("ternary", value+" 2 true", "1 "+value+" false")
		for _, function := range []string{"typeOf", "kindOf"} {
			add(function, value)
		}
		add("typeIs", `"int" `+value, `"[]interface {}" `+value)
		add("typeIsLike", `"semver.Version" `+value, `"time.Time" `+value)
		add("kindIs", `"slice" `+value, `"ptr" `+value)
		for _, other := range []string{"nil", "(list)", "(dict)", "0", `""`} {
			add("deepEqual", value+" "+other)
		}
	}
	add("default", "", "1", "1 2 3", "nil nil", `"x" nil 5`)
	add("coalesce", "", "nil", `"" 0 false`)
	add("all", "")
	add("any", "")
	add("ternary", `1 2 "x"`, "1 2", "1 2 nil", "1 2 1")
	add("fail", `"boom"`, `""`, `"a\nb"`, "5")
	return texts
}
