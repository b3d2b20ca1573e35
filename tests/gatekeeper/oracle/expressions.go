package main

import (
	"fmt"
	"strconv"
)

// literals are numbers from small to beyond 64 bits, written in every way.
var literals = []string{
	"0", "1", "-1", "7", "-42", "255", "1000", "65535", "128512", "2147483648", "9007199254740993", "9223372036854775807",
	"-9223372036854775808", "9223372036854775808", "18446744073709551615", "18446744073709551616",
	"123456789012345678901234567890", "-123456789012345678901234567890",
	"0.1", "-0.5", "1.5", "2.5", "1.0", "3.14159", "123456.789", "1234567.5", "0.000001", "-0.0",
	"1e3", "1.5e3", "1E6", "1e20", "1e21", "1e22", "1.5e300", "-2e+5", "1e-7", "25e-1", "5e-324",
}

// operands are those of arithmetic.
var operands = []string{
	"0", "-7", "3", "1000", "0.1", "-0.5", "1.0", "2.75", "1e3", "9007199254740993", "9223372036854775807", "18446744073709551617",
	"123456789012345678901234567890",
}

func expressions() []expression {
	var all []expression
	known := map[string]bool{}
	add := func(group string, some ...string) {
		for _, rego := range some {
			if known[rego] {
				continue
			}
			known[rego] = true
			all = append(all, expression{Group: group, Rego: rego})
		}
	}
	add("verb", verbs()...)
	add("flag", flags()...)
	add("arguments", arguments...)
	add("texts", texts()...)
	add("nested", nested()...)
	add("arithmetic", arithmetic()...)
	add("comparison", comparisons()...)
	add("rounding", roundings()...)
	add("aggregates", aggregates...)
	add("conversions", conversions()...)
	add("ranges", ranges...)
	add("bits", bits...)
	add("marshal", marshals()...)
	add("input", inputs()...)
	add("chains", chains...)
	add("limits", limits...)
	return all
}

func formatted(format, operand string) string {
	return fmt.Sprintf("sprintf(%s, [%s])", strconv.Quote(format), operand)
}

func verbs() []string {
	var all []string
	for _, verb := range "vdsxXboOeEfFgGqcUtTz" {
		for _, literal := range literals {
			all = append(all, formatted("%"+string(verb), literal))
		}
	}
	return all
}

func flags() []string {
	formats := []string{
		"%5d|", "%-5d|", "%05d|", "%+d", "% d", "%-+8d|", "%.4d|", "%8.4d|", "%08.4d|", "%.0d|", "%40d|", "%-40d|", "%040d|", "%+.35d",
		"%#x", "%#X", "%#o", "%#b", "%#O", "%+x", "% x", "%40x|", "%040x|", "%#040x|", "%-#40X|", "%#v", "%+v", "% v", "%12v|", "%-12v|", "%012v|", "%#d",
		"%8.2f|", "%-8.2f|", "%08.2f|", "%+.1f", "%.0f", "%.3e", "%.3g", "%#g", "%12.4g|", "%+v|%v", "%6.2v|", "%.20f", "%[1]d %[1]x", "%[1]v|%[1]d|%[1]e", "%[2]d",
		"%+q", "%#q", "%#U", "%6c|",
	}
	var all []string
	for _, format := range formats {
		for _, literal := range []string{"0", "42", "-42", "1e3", "2.5", "9223372036854775808", "-123456789012345678901234567890"} {
			all = append(all, formatted(format, literal))
		}
	}
	return all
}

var arguments = []string{
	`sprintf("%v", [])`, `sprintf("%d %d", [1])`, `sprintf("%d", [1, 2])`, `sprintf("%d", [1, 2.5, "a", 1e3])`, `sprintf("no verb", [1.0])`,
	`sprintf("no verb", [18446744073709551616, -1, 0.1])`, `sprintf("no verb", [[1.0], {"a": 1}, null, true, {1, 2}])`,
	`sprintf("%", [1])`, `sprintf("%5", [1])`, `sprintf("%%", [1])`, `sprintf("%!", [1])`, `sprintf("%*d|", [5, 42])`, `sprintf("%-*d|", [5, 42])`,
	`sprintf("%*d|", [5.5, 42])`, `sprintf("%*d|", ["5", 42])`, `sprintf("%.*f", [2, 3.14159])`, `sprintf("%*d|", [18446744073709551616, 42])`,
	`sprintf("%*d|", [6, 18446744073709551616])`, `sprintf("%*d|", [-30, 18446744073709551616])`, `sprintf("%.*d|", [25, 18446744073709551616])`, `sprintf("%[2]d %[1]d", [1, 2])`,
	`sprintf("%[2]d %[1]x", [18446744073709551616, 18446744073709551617])`, `sprintf("%[3]d", [1, 2])`, `sprintf("%[x]d", [1])`, `sprintf("%[1]d %d", [1, 2])`,
	`sprintf("%d %s", [1.0, 18446744073709551616])`, `sprintf("%d", ["18446744073709551616"])`, `sprintf("%d", [[1]])`, `sprintf("%d", [null])`, `sprintf("%t %t", [true, "true"])`,
	`sprintf("%d and %d", [18446744073709551616, 1])`, `sprintf("%5.1f|%-8v|%+d", [2.25, 1e3, 3])`, `sprintf("%d%%", [50])`, `sprintf("%d%%", [18446744073709551616])`,
	`sprintf("% d|%+d", [18446744073709551616, 18446744073709551616])`, `count(sprintf("%1000001d", [1]))`, `sprintf("%é", [18446744073709551616])`,
	`sprintf("%w", [1])`, `sprintf("%v %v %v", [1, 2])`, `sprintf("%s", [18446744073709551616])`, `sprintf("%s", [1.5])`,
}

func texts() []string {
	formats := []string{"%v", "%s", "%q", "%+q", "%#q", "%x", "%X", "% x", "%#x", "% X", "%d", "%10s|", "%-10s|", "%010s|", "%.2s", "%10.2s|", "%.1q", "%c", "%U", "%t", "%e", "%T", "%#v", "%+v"}
	values := []string{`"plain"`, `"a\"b\\c"`, `"tab\tline\n"`, `"é😀"`, `"\u0000\u001b\u007f"`, `"\u200b\ufeff"`, "\"back`tick\"", `""`}
	var all []string
	for _, format := range formats {
		for _, value := range values {
			all = append(all, formatted(format, value))
		}
	}
	return all
}

func nested() []string {
	all := append([]string{}, literals...)
	for _, literal := range literals {
		all = append(all, formatted("%v", "["+literal+"]"), formatted("%v", `{"a": `+literal+`}`))
	}
	for _, value := range []string{
		`[]`, `{}`, `set()`, `[[], {}, set()]`, `{1, 2.5, "a", null, true, [1], {"a": 1}, {1}}`, `{3, 1, 2}`, `{1, 1.0}`, `{1000, 1e3}`, `{1: "a", 1.5: "b", "1": "c"}`,
		`{"b": 1, "a": {"d": 2, "c": [1.5, -0.5]}}`, `{[1, 2]: 3}`, `{{1}: 2}`, `["é😀", "a\"b", "\n\t\u0000\u007f\u200b"]`, `{null: null, true: false}`, `[1, [2, [3, [4.5]]]]`, `"text"`, `null`, `true`,
		`{18446744073709551616, 1, -1}`, `{"x": {1.5, 1e3}}`, `[0.1, 1e-7, 1e21, 123456789.25]`,
	} {
		all = append(all, value)
		for _, format := range []string{"%v", "%s", "%q", "%d", "%x", "%5v|", "%T", "%+v", "%#v"} {
			all = append(all, formatted(format, value))
		}
	}
	return all
}

func arithmetic() []string {
	var all []string
	for _, operator := range []string{"+", "-", "*", "/", "%"} {
		for _, left := range operands {
			for _, right := range operands {
				all = append(all, formatted("%v", left+" "+operator+" "+right))
			}
		}
	}
	// In a list, a result is printed as it was computed.
	for _, one := range []string{
		"0.1 + 0.2", "0.1 * 3", "1 / 4", "1 / 3", "2 / 3", "10 / 2", "7 / 2", "1.0 + 1", "1.5 + 1.5", "1e3 + 0", "1.5 * 2", "0 * -1.5", "1000000 / 3", "1234567 + 0.5", "123456 + 0.5", "0.00001 * 1",
		"0.0001 * 1", "1 / 100000", "2.50 + 0", "100 * 1.1", "18446744073709551616 + 1", "18446744073709551616 - 1", "9223372036854775807 + 1", "9223372036854775807 * 2",
		"9223372036854775807 * 9223372036854775807", "-9223372036854775808 - 1", "1e21 + 1", "1e20 + 0.5", "1e300 * 1e300", "1e22 * 10", "1e-7 + 0", "5 % 3", "-5 % 3", "5 % -3", "5.0 % 3", "5.5 % 3",
		"1e3 % 7", "18446744073709551617 % 10", "5 % 18446744073709551616", "5 % 0", "5 % 0.0", "5 / 0", "5 / 0.0", "0 / 5", "-1 / 3", "1e400 * 2", "0.1 - 0.3", "0.3 - 0.1 - 0.2", "1.1 * 1.1", "3 * 1.1",
		"1000 * 1000", "999 * 999", "(0.1 + 0.2) * 10", "100 / 3 * 3", "minus(3, 5)", "plus(0.1, 0.7)", "mul(0.1, 0.7)", "div(1, 8)", "rem(7, 4)", "4.35 * 100", "1.005 * 1000", "0.57 * 100", "1.15 + 2.30",
	} {
		all = append(all, one)
	}
	return all
}

func comparisons() []string {
	pairs := [][2]string{
		{"1", "1.0"}, {"1000", "1e3"}, {"0", "-0.0"}, {"0.1 + 0.2", "0.3"}, {"9007199254740992", "9007199254740993"}, {"9007199254740993", "9007199254740992.0"}, {"9223372036854775807", "9223372036854775808"},
		{"18446744073709551616", "18446744073709551617"}, {"123456789012345678901234567890", "123456789012345678901234567891"}, {"1e21", "1000000000000000000000"}, {"1e22", "10000000000000000000001"},
		{"0.1", "0.10000000000000001"}, {"1.5", "1.50"}, {"-1", "1"}, {"1 / 3", "0.3333333333333333"}, {"1e400", "1e401"}, {"5e-324", "0"}, {"1", `"1"`}, {"2", "[1]"}, {"1 / 3 * 3", "1"}, {"100", "1"}, {"1.10", "1.1"},
	}
	var all []string
	for _, pair := range pairs {
		for _, operator := range []string{"==", "!=", "<", "<=", ">", ">="} {
			all = append(all, "[v | v := "+pair[0]+" "+operator+" "+pair[1]+"]")
		}
		all = append(all, "count({"+pair[0]+", "+pair[1]+"})", pair[0]+" in ["+pair[1]+"]", `object.get({`+pair[0]+`: "found"}, `+pair[1]+`, "none")`, "sort(["+pair[1]+", "+pair[0]+"])")
	}
	return all
}

func roundings() []string {
	values := append([]string{"0.5", "-1.5", "-2.5", "0.49999999999999994", "1e-9", "-0.4", "2.4", "4503599627370497.5", "1e400", "2.50", "99.99"}, literals...)
	var all []string
	for _, function := range []string{"round", "ceil", "floor", "abs"} {
		for _, value := range values {
			all = append(all, function+"("+value+")")
		}
	}
	return all
}

var aggregates = []string{
	"sum([])", "sum([1, 2, 3])", "sum([0.1, 0.2, 0.3])", "sum({0.1, 0.2, 0.3})", "sum([0.1, 0.2])", "sum([1, 2.5])", "sum([1.0, 2])", "sum([9223372036854775807, 1])", "sum([9223372036854775807, 1.0])",
	"sum({9223372036854775807, 1})", "sum([-9223372036854775808, -1])", "sum([18446744073709551616, 1])", "sum([1e3, 1])", "sum([1e21, 1])", "sum([0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1])",
	"sum(set())", "sum([1e20, -1e20, 0.5])", "sum([0.7, 0.1, 0.2])", "sum([1000000.25, 0.25])", "sum([1.1, 2.2, 3.3])", "sum([-0.0])", "sum([1.0])", "sum([123456789012345678901234567890])",
	"product([])", "product([2, 3, 4])", "product([0.1, 3])", "product([0.1, 0.2, 0.3])", "product({2, 0.5})", "product([9223372036854775807, 2])", "product([4294967296, 4294967296])", "product([18446744073709551616, 18446744073709551617])", "product([1.0, 1.0])",
	"product([1e3, 2])", "product([1.1, 1.1])", "product([0, -1])", "product([0, -1.5])", "product(set())", "product([1e300, 1e300])", "product([3.0])",
	"max([])", "max([1, 1.0])", "max([1.0, 1])", "max([1, 2.5, 1e3])", "max({1, 2.5, 1e3})", "max([18446744073709551616, 1])", `max([1, "a"])`, "max([[1], {1}, {2: 3}])", "max([null])",
	"min([])", "min([1, 1.0])", "min([1.0, 1])", "min([1, -2.5, 1e3])", "min({1, 0.5})", `min([1, "a", null])`, `min({null, 1})`, "min([18446744073709551616, 1e3])", "min([{1}, {2: 3}])",
	"count([1, 1.0])", "count({1, 1.0})", `count("é😀")`, `count({"a": 1})`, "sort([3, 1.5, -1, 1e3, 18446744073709551616, 0.1])", "sort({3, 1.0, 2})", `sort(["b", 1, null, true, [1], {"a": 1}, {1}])`, "sort([1.0, 1])", "sort([1, 1.0])",
}

func conversions() []string {
	texts := []string{
		"1", "-1", "+1", "1.0", "1.50", "1e3", "1E3", "1e21", "1e-7", ".5", "5.", "-.5", "007", "0x10", "0x10p0", "0X1P-2", "1_000", "0x_1p0", "", " 1", "1 ", "a", "inf", "-Inf", "NaN", "infinity", "1e400", "-1e400", "1e308", "1e-400", "1e1000000", "1e999999999999",
		"18446744073709551616", "9223372036854775808", "123456789012345678901234567890", "0.1", "0.30000000000000004", "--1", "+-1", "1e", "1e+", "0b1", "0o7", "1.2.3", "١", "-0", "0.0", "1,5",
	}
	var all []string
	for _, text := range texts {
		quoted := strconv.Quote(text)
		all = append(all, "to_number("+quoted+")", formatted("%d %v", "to_number("+quoted+"), to_number("+quoted+")"), "json.unmarshal("+quoted+")", "yaml.unmarshal("+quoted+")", "units.parse("+quoted+")", "units.parse_bytes("+quoted+")")
	}
	all = append(all, "to_number(null)", "to_number(true)", "to_number(false)", "to_number(1.50)")
	for _, base := range []string{"2", "8", "10", "16", "3", "10.0", "1e1"} {
		for _, literal := range literals {
			all = append(all, "format_int("+literal+", "+base+")")
		}
	}
	for _, text := range []string{"1K", "1.5Ki", "100m", "0.1m", "1.5G", "2Ei", "1k", "-1.5M", "1e3Ki", "1.23456789012345678Ki", "0.1", "3Mi", "1.5mi", "1T", "9Ei", "1e3", "1.0Gi"} {
		all = append(all, "units.parse("+strconv.Quote(text)+")", "units.parse_bytes("+strconv.Quote(text)+")")
	}
	return all
}

var ranges = []string{
	"numbers.range(1, 5)", "numbers.range(5, 1)", "numbers.range(1, 1)", "numbers.range(-2, 2)", "numbers.range(1.0, 3)", "numbers.range(1, 3.0)", "numbers.range(1.5, 3)", "numbers.range(1, 2.5)", "numbers.range(998, 1002)", "numbers.range(1e3, 1e3)",
	"numbers.range(9223372036854775806, 9223372036854775809)", "numbers.range(18446744073709551616, 18446744073709551617)", "numbers.range(18446744073709551614, 18446744073709551616)", "numbers.range(-9223372036854775809, -9223372036854775807)",
	"numbers.range_step(1, 10, 3)", "numbers.range_step(10, 1, 3)", "numbers.range_step(1, 10, 0)", "numbers.range_step(1, 10, -1)", "numbers.range_step(1, 10, 1.5)", "numbers.range_step(1, 10, 3.0)", "numbers.range_step(1, 10, 100)", "numbers.range_step(1, 10, 1e1)",
	"numbers.range_step(1.0, 3, 1)", "numbers.range_step(9223372036854775800, 9223372036854775809, 4)", "numbers.range_step(1, 10, 18446744073709551616)", "numbers.range_step(10, 1, 18446744073709551616)", "numbers.range_step(1, 1, 1)",
}

var bits = []string{
	"bits.and(12, 10)", "bits.or(12, 10)", "bits.xor(12, 10)", "bits.negate(12)", "bits.negate(-1)", "bits.lsh(1, 10)", "bits.lsh(1, 63)", "bits.lsh(1, 64)", "bits.lsh(1, 100)", "bits.lsh(-1, 70)", "bits.rsh(1024, 3)", "bits.rsh(-5, 1)", "bits.rsh(-1, 100)",
	"bits.rsh(18446744073709551616, 4)", "bits.lsh(1, -1)", "bits.rsh(1, -1)", "bits.and(12.0, 10)", "bits.and(12.5, 10)", "bits.and(1e3, 255)", "bits.and(18446744073709551617, 1)", "bits.or(18446744073709551616, 1)", "bits.xor(-1, 18446744073709551616)",
	"bits.negate(9223372036854775807)", "bits.negate(18446744073709551615)", "bits.and(-1, 255)", "bits.or(-256, 1)", "bits.lsh(2.0, 1)", "bits.lsh(1, 3.0)", "bits.lsh(0, 1000)", "bits.and(-9223372036854775808, -1)",
}

func marshals() []string {
	var all []string
	for _, literal := range literals {
		all = append(all, "json.marshal("+literal+")", "json.marshal(["+literal+"])", "json.unmarshal(json.marshal("+literal+"))")
	}
	for _, literal := range []string{"1", "1.5", "0.1", "1000", "18446744073709551616", "1234567.5", "1e-7", "1e21"} {
		all = append(all, "yaml.marshal("+literal+")", `yaml.marshal({"a": [`+literal+`]})`, `json.marshal_with_options([`+literal+`], {"pretty": true})`, "$\"{"+literal+"}\"", "$\"<{["+literal+"]}>\"", "type_name("+literal+")", "is_number("+literal+")",
			`object.get({`+literal+`: "found"}, `+literal+`, "none")`, "json.is_valid(json.marshal("+literal+"))", "crypto.md5(json.marshal("+literal+"))", `array.slice([1, 2, 3], 0, `+literal+`)`,
			`substring("abcdef", 1, `+literal+`)`, `time.add_date(`+literal+`, 0, 0, 1)`, `indexof("abc", "c") + `+literal)
	}
	for _, one := range []string{
		"json.marshal(1 / 3)", "json.marshal(0.1 + 0.2)", "json.marshal([1234567 + 0.5])", "json.marshal({1: 2})", "json.marshal({1.5: 2})", "json.marshal({1e3: [2.0]})", "json.marshal({3, 1, 2.5})", `json.marshal({"b": 1.0, "a": "<é\u2028>"})`,
		`json.marshal({[1, 2.0]: {"x"}})`, "json.marshal(null)", "json.marshal([true, {}, [], set()])", `json.marshal("a\"\\\n\u0001\u007f")`, `json.unmarshal("[1.0, 1e3, 18446744073709551616, 0.1, -0]")`, `json.unmarshal("{\"a\": 1.50}")`, `json.unmarshal("[1e400]")`,
		`json.unmarshal("{\"1844674407370955161600\": [-1844674407370955161600, \"1844674407370955161600\"]}")`, `json.unmarshal("[\"\\u0000184467440737095516160\"]")`, `json.unmarshal("[\"\\\\\", 184467440737095516160]")`,
		`json.unmarshal("184467440737095516160.5")`, `json.unmarshal("0184467440737095516160")`, `json.unmarshal("{\"a\": 1, \"a\": 2}")`, `json.is_valid("[1, 2")`, `json.is_valid("")`, `yaml.is_valid("a: [")`, `yaml.is_valid("")`,
		`json.unmarshal("{\"$serde_json::private::Number\": \"12\"}")`,
		`yaml.unmarshal("[1.0, 1e3, 18446744073709551616, 0.1, 0x10, 1_000]")`, `yaml.unmarshal("a: 1.50")`,
		`yaml.marshal({"b": [1, {"c": "x: y"}], "a": "1", "d": null, "e": "two\nlines\n", "f": "yes", "g": true, "h": "1e3"})`, `json.marshal_with_options({"a": [1, {}], "b": "<"}, {"indent": "  "})`, `json.marshal_with_options([1, [2]], {"prefix": ">"})`, `json.marshal_with_options([1], {"pretty": false, "indent": " "})`, `json.marshal_with_options([1, 2], {})`,
		`json.marshal_with_options([], {"pretty": true})`, `json.marshal_with_options({"a": {}}, {"pretty": true, "prefix": "-", "indent": "+"})`, `json.marshal_with_options([1.5], {"prefix": "", "pretty": true})`, "yaml.marshal([])", "yaml.marshal({})", "yaml.marshal([[1, 2], [], {}])",
		`yaml.marshal("text")`, `yaml.marshal({1: 2, 1.5: {3, 1}})`, "yaml.marshal(set())", "yaml.marshal(null)", `yaml.marshal(["", " a ", "#b", "- c", "é😀", "\u0001", "0x10", "1_000", ".5", "~", "null"])`, "yaml.marshal([1000000, 1e6, 2.0, 0.1 + 0.2, 1e3])",
	} {
		all = append(all, one)
	}
	return all
}

func inputs() []string {
	object := []string{
		"zero", "negativeZero", "one", "whole", "thousand", "half", "tenth", "third", "million", "user", "small", "tiny", "safe", "longest", "least", "beyond", "unsigned", "long", "e20", "e21", "e22", "huge", "list",
	}
	parameters := []string{"whole", "thousand", "half", "million", "user", "tiny", "long", "e20", "e21", "longest", "list"}
	var all []string
	of := func(path string) {
		all = append(all, path, formatted("%d", path), formatted("%v", path), formatted("%s", path), path+" + 1", path+" * 1.5", "json.marshal("+path+")", "round("+path+")", path+" == 1", path+" == 1000", "format_int("+path+", 10)")
	}
	for _, name := range object {
		of("input.review.object." + name)
	}
	for _, name := range []string{"whole", "half", "million", "user", "tiny", "long", "e20", "longest"} {
		of(`data.inventory.cluster["v1"].Numbers.stored.` + name)
	}
	for _, name := range parameters {
		of("input.parameters." + name)
	}
	return all
}

// chains have several steps, each of which rounds.
var chains = []string{
	"round(2.345 * 100) / 100", "round(1.005 * 100) / 100", "floor(7 / 2)", "ceil(7 / 2)", "sum([x | x := [0.1, 0.2, 0.3][_]]) / 3", "round((1 / 3) * 1000) / 1000", "sum([0.1, 0.2, 0.3]) == 0.6", "0.1 + 0.2 + 0.3 == 0.6", "(0.1 + 0.2) + 0.3", "0.1 + (0.2 + 0.3)",
	`sprintf("%.2f", [2 / 3])`, `sprintf("%d", [round(2.5)])`, `sprintf("%d", [10 / 2])`, `sprintf("%d", [10 / 4])`, `sprintf("%d", [1.5 * 2])`, `sprintf("%d", [1e3 * 1])`, `sprintf("%d", [floor(1e3)])`, `sprintf("%d%%", [round(0.57 * 100)])`, `sprintf("%v", [1 / 3 * 3])`, `sprintf("%v", [2 / 3 + 1 / 3])`,
	`sprintf("%d", [abs(-1e3)])`, `sprintf("%v", [100 * (1 + 0.07)])`, "to_number(\"0.1\") + to_number(\"0.2\")", "to_number(sprintf(\"%.2f\", [2 / 3]))", "to_number(format_int(255, 16))", "product([1 / 3, 3])", "1e3 + 1e-3", "1024 * 1024 * 1024 * 1024", "1024 * 1024 * 1024 * 1024 * 1024 * 1024 * 1024 * 1024",
	"[x | x := numbers.range(1, 3)[_] / 2]", "{x | x := [1.0, 1, 1e0][_]}", "max([0.1 + 0.2, 0.3])", "ceil(0.1 * 3 * 10)", "floor(0.1 * 3 * 10)", "1 - 0.9", "1 - 0.9 == 0.1", "33.33 * 3", "19.99 * 100", "floor(19.99 * 100)", "0.1 * 0.1", "1.1 + 2.2", "1.1 + 2.2 == 3.3",
	"50 / 1000", "1500 / 1000", "1500 / 1024", "123 / 1000", "1234567890 / 1000", "1234567890123 / 1000", `sprintf("%v", [1234567890 / 1000])`, `sprintf("%.1f%%", [1 / 8 * 100])`, "0.1 - 0.1", "1.5 - 1.5", "-1 * 0", "0 * -1", "1e3 - 1e3", "count([1.0]) + 0.5",
}

// limits are numbers that grow, and numbers that are too long to compute with.
var limits = []string{
	"1e30000 > 1", "1e30200 > 1", "1e-30200 < 1", "1e1000000 > 1", "1e999999999 > 1", "1e99999999999999999999 > 1", "-1e1000000 < 1", "1e-1000000 < 1", "1.5e1000000 > 1", "1E+1000000 > 1", "[1e1000000]", "0e1000000", `to_number("1e999999999")`,
	"count(sprintf(\"%v\", [[1e30000 * 1]]))", "1e300 * 1e300 * 1e300 > 1", "bits.lsh(1, 100000) > 1", "format_int(1e300, 16)", "round(1e300)", "1e300 % 7", "sum([1e300, 1])", `units.parse("1e999999999")`, `units.parse_bytes("1e999999999")`,
	`json.is_valid("1e999999999")`, `yaml.is_valid("1e999999999")`, "01", "1.", ".5", "-.5", "1.5.5", "0x10", "1_000", "00", "-01", "0e5", "0.e5", "1e", "1e5.5",
}
