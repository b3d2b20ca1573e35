package main

import "fmt"

func sprigDates() []string {
	var texts []string
	add := func(function string, arguments ...string) { texts = append(texts, calls(function, arguments...)...) }
	when := `(toDate "2006-01-02T15:04:05.999999999Z07:00" "2024-02-29T03:04:05.123456Z")`
	layouts := []string{
		"2006-01-02", "Mon Jan _2 15:04:05 2006", "Mon Jan _2 15:04:05 MST 2006", "Mon Jan 02 15:04:05 -0700 2006", "02 Jan 06 15:04 MST", "02 Jan 06 15:04 -0700", "Monday, 02-Jan-06 15:04:05 MST", "Mon, 02 Jan 2006 15:04:05 MST",
		"2006-01-02T15:04:05Z07:00", "2006-01-02T15:04:05.999999999Z07:00", "3:04PM", "Jan _2 15:04:05.000000000", "January 2 2006 3:4:5pm", "002 __2 _2", "05.000 05.999 05,000000 05,9", "Z0700 Z07 Z070000 Z07:00:00", "-07 -07:00 -070000 -07:00:00", "_2006", "Janu Mondays Jan.", "1 01 15 2 02 2006 06 3 03 4 04 5 05 pm PM MST",
		"", "abc", "é 2006", ".00 .0x .01", "5.000", "20060102150405", "Jan", "JanMon", "MSTMST", "999", ".999", "15h", "_2_2", "__2__2", "0102", "010", "00", "000", "0020", "a1b", "PMpm", "P p", "Z", "-", "-0", "Z07", "ZZ07:00",
	}
	for _, layout := range layouts {
		add("date", fmt.Sprintf("%q %s", layout, when), fmt.Sprintf("%q 0", layout), fmt.Sprintf("%q -1", layout))
		add("dateInZone", fmt.Sprintf("%q %s %q", layout, when, "America/New_York"), fmt.Sprintf("%q (int64 1700000000) %q", layout, "Asia/Kolkata"), fmt.Sprintf("%q -5000000000 %q", layout, "Europe/Berlin"))
	}
	for _, zone := range []string{"UTC", "", "Local", "Nope/Nope", "europe/berlin", "Europe/Berlin", "EST5EDT", "Etc/GMT+5", "../etc/passwd", "/etc", "America/Sao_Paulo", "Australia/Sydney", "Pacific/Apia", "Africa/Monrovia", "Asia/Kathmandu", "GMT"} {
		for _, seconds := range []string{"0", "1700000000", "1720000000", "-3000000000", "4102444800", "-70000000000", "300000000000"} {
			add("dateInZone", fmt.Sprintf(`"2006-01-02 15:04:05 -07:00:00 MST" %s %q`, seconds, zone))
		}
		add("htmlDateInZone", fmt.Sprintf("0 %q", zone))
	}
	add("htmlDate", "0", "86400", when, "-62135596800", "253402300799", "253402300800", "-62167219200", "-62167219201", "9999999999999")
	add("date", `"2006-01-02" 99999999999999`, `"2006-01-02" -99999999999999`, `5 0`, `"06" -99999999999999`, `"06" 99999999999999`)
	parses := [][2]string{
		{"2006-01-02", "2023-12-31"}, {"2006-01-02", "2023-02-30"}, {"2006-01-02", "x"}, {"2006-01-02", "2023-13-01"}, {"2006-01-02", "2023-12-31x"}, {"2006-01-02", "2023-1-1"}, {"2006-1-2", "2023-01-5"}, {"2006-01-02", ""}, {"", ""}, {"", "x"}, {"06-01-02", "69-01-01"}, {"06-01-02", "68-01-01"}, {"06", "-1"}, {"2006", "20x0"}, {"2006", "-200"},
		{"Jan 2 2006", "feb 9 2001"}, {"January 2 2006", "FEBRUARY 9 2001"}, {"Jan 2", "Feb 30"}, {"Monday Jan 2", "friday Jan 5"}, {"Mon", "xyz"}, {"Mon", "we"}, {"_2 Jan", " 5 Jan"}, {"_2 Jan", "15 Jan"}, {"2006 002", "2024 366"}, {"2006 002", "2023 366"}, {"2006 002", "2024 060"}, {"2006 __2", "2023  60"}, {"2006 002", "2024 60"}, {"2006 002 01", "2024 060 03"}, {"2006 002 02", "2024 060 01"}, {"2006 002", "2024 000"},
		{"15:04", "24:00"}, {"15:04", "9:05"}, {"15:04:05", "23:59:60"}, {"15:04:05", "12:13:14.5"}, {"15:04:05", "12:13:14.123456789123"}, {"15:04:05.000", "12:13:14.5"}, {"15:04:05.000", "12:13:14.567"}, {"15:04:05.999", "12:13:14"}, {"15:04:05.999", "12:13:14.123456"}, {"15:04:05,000", "12:13:14.567"}, {"15:04:05.000", "12:13:14x567"}, {"15:04:05.000", "12:13:14.5x7"}, {"15:04:05.999 x", "12:13:14. x"},
		{"3:04PM", "12:30AM"}, {"3:04PM", "12:30PM"}, {"3:04PM", "1:30pm"}, {"3:04pm", "1:30pm"}, {"3:04PM", "13:30PM"}, {"3PM", "0AM"}, {"3PM", "1X"}, {"3PM", "1P"},
		{"2006-01-02T15:04:05Z07:00", "2020-05-06T07:08:09Z"}, {"2006-01-02T15:04:05Z07:00", "2020-05-06T07:08:09+02:30"}, {"2006-01-02T15:04:05Z07:00", "2020-05-06T07:08:09.25-00:00"}, {"2006-01-02T15:04:05Z07:00", "2020-05-06T07:08:09+25:00"}, {"2006-01-02T15:04:05Z07:00", "2020-05-06T07:08:09+24:61"}, {"2006-01-02T15:04:05Z07:00", "2020-05-06 07:08:09Z"}, {"2006-01-02T15:04:05Z07:00", "2020-05-06T07:08:09"}, {"2006-01-02T15:04:05Z07:00", "2020-02-30T07:08:09Z"}, {"2006-01-02T15:04:05Z07:00", "2020-05-06T7:08:09Z"}, {"2006-01-02T15:04:05.999999999Z07:00", "2020-05-06T07:08:09.000000001Z"},
		{"15 -0700", "10 +0530"}, {"15 -0700", "10 0530"}, {"15 -07", "10 -08"}, {"15 -07:00", "10 -0800"}, {"15 -070000", "10 +010203"}, {"15 -07:00:00", "10 +01:02:03"}, {"15 -07:00:00", "10 +01:0203"}, {"15 -0700", "10 +9900"}, {"15 -0700", "10 +0x00"}, {"15 -0700", "10 *0100"}, {"15 Z0700", "10 Z"}, {"15 Z07", "10 Z"}, {"15 -0700", "10 +0000"}, {"15 -0700 MST", "10 +0100 CET"}, {"15 -0700 MST", "10 +0000 UTC"}, {"15 -070000", "10 -000001"},
		{"15 MST", "10 PST"}, {"15 MST", "10 UTC"}, {"15 MST", "10 GMT+3"}, {"15 MST", "10 GMT+99"}, {"15 MST", "10 GMT-03"}, {"15 MST", "10 ChST"}, {"15 MST", "10 WITA"}, {"15 MST", "10 ABCDT"}, {"15 MST", "10 ABCD"}, {"15 MST", "10 ABCDEF"}, {"15 MST", "10 Ab"}, {"15 MST", "10 +03"}, {"15 MST", "10 -0330"}, {"15 MST", "10 x"}, {"15 MST", "10 UTCX"}, {"15 MST", "10 GMT"}, {"15 MST", "10 AB"}, {"15 MST", "10 +"},
		{"2006 01 02", "2020  05   06"}, {"2006  01", "2020 05"}, {"2006 01", "202005"}, {" 2006", "2020"}, {"2006 ", "2020   "}, {"a2006", "b2020"}, {"é2006", "é2020"}, {"é2006", "x\"\\\u0001"}, {"2006-01-02", "2023-12-31\xff"}, {"02 Jan 2006", "31 Apr 2006"}, {"2006-02", "2006-31"}, {"02", "00"}, {"01", "00"}, {"4", "60"}, {"5", "60"}, {"15", "x"}, {"02", "3"}, {"2006-01-02 15", "0001-01-01 00"}, {"Jan _2 15:04:05 2006", "Dec  1 1:02:03 0000"},
	}
	for _, pair := range parses {
		arguments := fmt.Sprintf("%q %q", pair[0], pair[1])
		add("toDate", arguments)
		add("mustToDate", arguments)
	}
	durations := []string{"1h30m", "-1.5h", "100ms", "1us", "1µs", "1μs", "10ns", "0", "+5s", "", "5", "1d", "1h 2m", ".5s", "1.s", ".s", "-", "1e3s", "9223372036854775807ns", "9223372036854775808ns", "-9223372036854775808ns", "2562047h47m16.854775807s", "2562047h47m16.854775808s", "3000000h", "0.100000000000000000000h", "0.9223372036854775807h", "1m1m", "x", "1.2.3s", "0.000000001s", "1h-2m", "99999999999999999999s", "1é"}
	for _, duration := range durations {
		for _, function := range []string{"dateModify", "mustDateModify", "date_modify", "must_date_modify"} {
			add(function, fmt.Sprintf("%q %s", duration, when))
		}
		add("durationRound", fmt.Sprintf("%q", duration))
		add("duration", fmt.Sprintf("%q", duration))
	}
	add("dateModify", `"1h" nil`, `"1h" 5`, `"1h"`)
	add("duration", "95", "(int64 95)", "(int64 0)", "(int64 -3661)", `"86400"`, "nil", "1.5", "(int64 9223372036854775807)", `"99999999999999999999"`, `"-99999999999999999999"`, `"1_0"`, `"+7"`, `(int64 3600)`)
	add("durationRound", `"2400h10m5s"`, "(int64 1)", "(int64 1000000000)", "(int64 1000000001)", "(int64 -90000000000)", `"8760h"`, `"8760h1s"`, `"24h"`, `"25h"`, `"-9223372036854775808ns"`, "nil", "5", `"60s"`, `"61s"`)
	add("unixEpoch", when, `(toDate "x" "y")`, "nil", "5", `"a"`)
	for _, method := range []string{
		"Unix", "UnixMilli", "UnixMicro", "UnixNano", "UTC", "Local", "Year", "Month", "Day", "Weekday", "Hour", "Minute", "Second", "Nanosecond", "YearDay", "IsZero", "String", "IsDST", "Location", `Format "2006"`, "AddDate 1 1 1", "AddDate 0 -14 -40", "AddDate 0 0 400", "Month.String", "Weekday.String", "Location.String", "Format 5", "AddDate 1", "Nope", `Add 5`, `Before 5`,
	} {
		texts = append(texts, fmt.Sprintf("{{ %s.%s }}", when, method), fmt.Sprintf(`{{ (toDate "x" "y").%s }}`, method), fmt.Sprintf(`{{ (mustToDate "15 MST 2006-01-02" "10 PST 2020-01-31").%s }}`, method))
	}
	pair := `{{ $a := toDate "2006-01-02 15:04:05.999999999" "2024-02-29 03:04:05.5" }}{{ $b := toDate "2006-01-02" "2023-01-31" }}`
	for _, rest := range []string{
		"{{ $a.Sub $b }}", "{{ $b.Sub $a }}", "{{ ($a.Sub $b).Hours }}", "{{ ($a.Sub $b).Minutes }}", "{{ ($a.Sub $b).Seconds }}", "{{ ($a.Sub $b).Milliseconds }}", "{{ ($a.Sub $b).Nanoseconds }}", "{{ ($a.Sub $b).Microseconds }}", "{{ ($b.Sub $a).Abs }}", "{{ $a.Before $b }} {{ $a.After $b }} {{ $a.Equal $b }} {{ $a.Equal $a }} {{ $a.Compare $b }} {{ $b.Compare $a }}",
		"{{ $b.Add ($a.Sub $b) }}", "{{ ($a.Sub $b).Round (($a.Sub $b)) }}", "{{ $a.Truncate (($a.Sub $b)) }}", "{{ $a.Round (($a.Sub $b)) }}", "{{ eq $a.Month $b.Month }}", "{{ $a.In $b.Location }}", "{{ printf \"%T %T %T %T %T\" $a $a.Month $a.Weekday ($a.Sub $b) $a.Location }}", "{{ printf \"%d %d %v %s\" $a.Month $a.Weekday $a.Month ($a.Sub $b) }}", "{{ deepEqual $a $a }} {{ deepEqual $a $b }} {{ deepEqual ($a.Sub $b) ($a.Sub $b) }}",
		"{{ (toDate \"x\" \"y\").Sub $a }}", "{{ $a.Sub }}", "{{ ($a.Sub $b).String }} {{ ($a.Sub $b) | toString }} {{ toJson $a }} {{ toJson ($a.Sub $b) }} {{ toJson $a.Month }}", "{{ int $a.Month }} {{ add $a.Month 1 }} {{ ($a.Sub $b) | int64 }} {{ ($a.Sub $b) | kindOf }} {{ if ($a.Sub $a) }}y{{ else }}n{{ end }}", "{{ $a.Month | quote }} {{ list $a $b.Month }} {{ dict \"a\" $a }}", "{{ (date \"2006\" $a) }} {{ htmlDate $b }} {{ durationRound ($a.Sub $b) }} {{ duration ($a.Sub $b) }}",
		"{{ ($a.AddDate 300 0 0).Sub $b }}", "{{ $a.AddDate 10000 0 0 }}", "{{ $a.AddDate -5000 0 0 }}", "{{ dateInZone \"2006-01-02T15:04:05-07:00\" $a \"Asia/Tokyo\" }}",
	} {
		texts = append(texts, pair+rest)
	}
	return texts
}

// sprigZoned is what depends on the local zone.
func sprigZoned() []string {
	var texts []string
	for _, layout := range []string{"2006-01-02 15:04:05 -0700 MST", "15:04 Z07:00 Mon", "3PM Jan 2 002"} {
		for _, seconds := range []int64{0, 1700000000, 1720000000, -3000000000, 1711846800, 1711846799, 1729990799, 1729990800, 4102444800, 8000000000} {
			texts = append(texts, fmt.Sprintf("{{ date %q %d }} {{ htmlDate %d }} {{ dateInZone %q %d %q }}", layout, seconds, seconds, layout, seconds, "UTC"))
		}
	}
	values := [][2]string{
		{"2006-01-02 15:04:05", "2024-03-31 02:30:00"}, {"2006-01-02 15:04:05", "2024-10-27 02:30:00"}, {"2006-01-02 15:04:05", "2024-03-10 02:30:00"}, {"2006-01-02 15:04:05", "2024-11-03 01:30:00"}, {"2006-01-02 15:04:05", "2024-04-07 01:45:00"}, {"2006-01-02 15:04:05", "1850-01-01 00:00:00"}, {"2006-01-02", "2024-07-01"}, {"2006-01-02", "2024-01-01"}, {"2006-01-02", "0001-01-01"}, {"2006-01-02", "9999-12-31"},
		{"2006-01-02 MST", "2024-07-01 CEST"}, {"2006-01-02 MST", "2024-01-01 CEST"}, {"2006-01-02 MST", "2024-07-01 CET"}, {"2006-01-02 MST", "2024-07-01 EDT"}, {"2006-01-02 MST", "2024-07-01 EST"}, {"2006-01-02 MST", "2024-01-01 EST"}, {"2006-01-02 MST", "2024-01-01 IST"}, {"2006-01-02 MST", "2024-01-01 +11"}, {"2006-01-02 MST", "2024-01-01 PST"}, {"2006-01-02 MST", "1850-01-01 LMT"}, {"2006-01-02 MST", "2024-01-01 UTC"}, {"2006-01-02 MST", "2024-01-01 GMT"},
		{"2006-01-02 -0700", "2024-07-01 +0200"}, {"2006-01-02 -0700", "2024-01-01 +0200"}, {"2006-01-02 -0700", "2024-01-01 -0500"}, {"2006-01-02 -0700", "2024-01-01 +0530"}, {"2006-01-02 -0700 MST", "2024-07-01 +0200 CEST"}, {"2006-01-02 -0700 MST", "2024-07-01 +0200 XYZ"}, {"2006-01-02T15:04:05Z07:00", "2024-07-01T01:02:03Z"}, {"2006-01-02T15:04:05Z07:00", "2024-07-01T01:02:03+02:00"},
	}
	for _, value := range values {
		parsed := fmt.Sprintf("{{ $t := mustToDate %q %q }}", value[0], value[1])
		texts = append(texts, parsed+"{{ $t }} {{ $t.Unix }} {{ $t.UTC }} {{ $t.IsDST }} {{ $t.Weekday }} {{ toJson $t }}", parsed+"{{ $t.AddDate 0 6 0 }} {{ $t.AddDate 0 0 1 }} {{ dateModify \"5000h\" $t }} {{ date \"2006-01-02 15:04 MST\" $t }} {{ unixEpoch $t }} {{ $t.Hour }} {{ $t.YearDay }}")
	}
	return texts
}

func sprigOthers() []string {
	var texts []string
	add := func(function string, arguments ...string) { texts = append(texts, calls(function, arguments...)...) }
	paths := []string{"", ".", "/", "//", "///a", "a", "a/", "a//b", "/a/b.c", "a/b/..", "../a", "a/../..", "/..", "/../a", "a/./b", "./a", "a.b.c", ".x", "a/.x", "a.", "a/b.c/d", "é/ü.x", "a/b/c/../../..", "a\\b", "..", "../..", "a/..", "/a/../..", "x/../../y"}
	for _, path := range paths {
		for _, function := range []string{"base", "dir", "clean", "ext", "isAbs", "osBase", "osDir", "osClean", "osExt", "osIsAbs"} {
			add(function, fmt.Sprintf("%q", path))
		}
	}
	urls := []string{
		"http://user:p%40ss@host.com:8080/a%20b/c?q=1&r=a+b#frag%20x", "https://[::1]:443/x", "mailto:a@b.c", "/path/only?x", "rel/path", "a:b:c", "1a:b", ":x", "http://h:port/", "http://a b/", "http://[::1", "http://x%zz", "%zz", "//host/path", "///path", "http:/path", "http://", "", "*", "http://h?", "http://h#", "http://h/%2f", "http://héé/ü?ü#ü", "ftp://u@h", "http://u:@h", "HTTP://H", "http://h/a;b,c", "http://h/a?b?c", "http://h:", "http://h:80:90",
		"foo://h:80:90", "http://[fe80::1%25en0]:8080/", "http://[fe80::1%en0]/", "http://[1.2.3.4]/", "http://[x]/", "http://[::1]x/", "http://a[b]/", "http://h\x7f/", "http://h/\n", "a/b:c", "a%3Ab", "http://%41/", "http://%e9/", "http://h/%41", "http://us er@h/", "http://u^r@h/", "http://u:p:q@h/", "http://@h/", "http://a@b@c/", "x-y.z+1://h", "http://h/#a#b", "http://h/?#", "urn:isbn:123", "http://h/\"<>^`{|}", "http://h<>/", "http://h\"x/", "http://1.2.3.4:5/", "jdbc:postgresql://h/db", "c:\\x", "http://h/a b",
	}
	for _, url := range urls {
		add("urlParse", fmt.Sprintf("%q", url))
		texts = append(texts, fmt.Sprintf("{{ urlParse %q | urlJoin }}", url))
	}
	add("urlJoin", "(dict)", "nil", `(dict "scheme" "http" "host" "h" "path" "p" "query" "q" "fragment" "f g" "userinfo" "u:p")`, `(dict "opaque" "o" "scheme" "s")`, `(dict "host" 5)`, `(dict "host" nil)`, `(dict "userinfo" "a b")`, `(dict "userinfo" "u%zz")`, `(dict "path" "a:b")`, `(dict "path" "*")`, `(dict "path" "/a b?c")`, `(dict "host" "a b")`, `(dict "host" "[::1]:5" "path" "/")`, `(dict "fragment" "a!'(x")`, `(dict "userinfo" "é:ü" "host" "h")`, `(dict "scheme" (list))`, `(dict "hostname" "x")`, `(dict "scheme" "http")`, `(dict "scheme" "http" "path" "/p")`, `(dict "scheme" "http" "path" "p")`, `(dict "userinfo" "u")`, `(dict "host" "h" "path" "p")`, `(dict "userinfo" ":")`, `(dict "userinfo" "a@b" "host" "h")`)
	add("b32enc", `""`, `"f"`, `"fo"`, `"foo"`, `"foob"`, `"fooba"`, `"foobar"`, `(b64dec "/wA=")`, `"héllo"`)
	add("b32dec", `""`, `"MY======"`, `"MZXQ===="`, `"MZXW6==="`, `"MZXW6YQ="`, `"MZXW6YTB"`, `"MZXW6YTBOI======"`, `"MY"`, `"my======"`, `"MY=====!"`, `"M======="`, `"MZX====="`, `"MZXW6Y=="`, `"MZXW6YT="`, `"MZ\nXW6=\r=="`, `"!"`, `"MZXW6YTB!"`, `"MZXW6YTBMY"`, `"MY======MY======"`, `"MZXW6YTB="`, `"MY====="`, `"1234"`, `"MY=A===="`, `"="`, `"A=======B"`, `"MZXW6YQ=A"`)
	for _, function := range []string{"sha1sum", "sha256sum", "sha512sum", "adler32sum"} {
		add(function, `""`, `"a"`, `"héllo"`, `(b64dec "/wA=")`, `(repeat 1000 "x")`, "5")
	}
	add("derivePassword", `1 "long" "password" "user" "example.com"`, `0 "pin" "p" "" "s"`, `2 "maximum" "password" "user" "example.com"`, `1 "medium" "password" "user" "example.com"`, `4294967295 "short" "password" "user" "example.com"`, `1 "basic" "päss" "üser" "example.com"`, `1 "nope" "a" "b" "c"`, `-1 "long" "a" "b" "c"`, `4294967296 "long" "a" "b" "c"`, `"1" "long" "a" "b" "c"`, `1 "long" "a" "b"`, `1.0 "pin" "a" "b" "c"`, `1.5 "pin" "a" "b" "c"`, `nil "pin" "a" "b" "c"`)
	add("decryptAES", `"secretkey" "30tEfhuJSVRhpG97XCuWgz2okj7L8vQ1s6V9zVUPeDQ="`, `"secretkey" ""`, `"k" "!"`, `"k" "YQ=="`, `"k" "MDEyMzQ1Njc4OWFiY2RlZg=="`, `"k" "MDEyMzQ1Njc4OWFiY2RlZjA="`, `"wrong" "30tEfhuJSVRhpG97XCuWgz2okj7L8vQ1s6V9zVUPeDQ="`, `"k" "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="`, `"a very long password of more than thirty-two bytes" "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWYwMTIzNDU2Nzg5YWJjZGVm"`)
	add("encryptAES", `"k" ""`, "5 5")
	texts = append(texts, `{{ encryptAES "key" "héllo" | decryptAES "key" }}`, `{{ encryptAES "" "0123456789abcdef" | decryptAES "" }}`, `{{ encryptAES "k" "a" | len }} {{ encryptAES "k" "0123456789abcdef" | len }}`)
	add("htpasswd", `"a:b" "p"`, `"u"`, `"u" (repeat 73 "x")`)
	add("bcrypt", `(repeat 73 "x")`, "5")
	texts = append(texts, `{{ bcrypt "p" | len }} {{ bcrypt "p" | trunc 7 }} {{ htpasswd "u" "p" | trunc 9 }}`, `{{ bcrypt (repeat 72 "x") | len }} {{ bcrypt "" | len }}`)
	for _, function := range []string{"randAlphaNum", "randAlpha", "randNumeric", "randAscii", "randBytes"} {
		add(function, "0", "-1", `"5"`)
		texts = append(texts, fmt.Sprintf("{{ %s 30 | len }}", function))
	}
	texts = append(texts, `{{ randAlpha 50 | regexMatch "^[A-Za-z]{50}$" }}{{ randAlphaNum 50 | regexMatch "^[A-Za-z0-9]{50}$" }}{{ randNumeric 50 | regexMatch "^[0-9]{50}$" }}{{ randAscii 50 | regexMatch "^[ -~]{50}$" }}`, `{{ uuidv4 | regexMatch "^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$" }}`, `{{ shuffle "abc" | len }} {{ shuffle "" }} {{ shuffle "éé" }} {{ shuffle (b64dec "/w==") }}`, `{{ $x := randInt 5 10 }}{{ and (ge $x 5) (lt $x 10) }}`)
	add("randInt", "5 5", "5 1", "0 1", "-3 -2", "-9223372036854775808 9223372036854775807", `"1" 2`)
	add("getHostByName", `"no-such-host.invalid"`, `""`, "5")
	texts = append(texts, `{{ now | typeOf }} {{ now.IsZero }} {{ ago now }} {{ ago (now.AddDate 0 0 -1) }} {{ ago "x" }} {{ durationRound (now.AddDate 0 0 -3) }}`, `{{ (now.Sub (now)).Hours | int }}`)
	texts = append(texts, sprigRegexes()...)
	texts = append(texts, sprigCertificates()...)
	texts = append(texts, sprigVersions()...)
	return texts
}

func sprigCertificates() []string {
	return []string{
		`{{ genPrivateKey "nope" }}`, `{{ genPrivateKey 5 }}`,
		`{{ genPrivateKey "ecdsa" | regexMatch "^-----BEGIN EC PRIVATE KEY-----\n(?s:.*)-----END EC PRIVATE KEY-----\n$" }}`,
		`{{ genPrivateKey "ed25519" | regexMatch "^-----BEGIN PRIVATE KEY-----\n(?s:.*)-----END PRIVATE KEY-----\n$" }}`,
		`{{ $k := genPrivateKey "ecdsa" }}{{ $ca := genCAWithKey "my-ca" 365 $k }}{{ typeOf $ca }} {{ kindOf $ca }} {{ eq $ca.Key $k }} {{ $ca.Cert | regexMatch "^-----BEGIN CERTIFICATE-----" }}{{ $s := genSignedCertWithKey "x" (list "10.0.0.1" "::1") (list "a.b") 30 $ca (genPrivateKey "ed25519") }}{{ $c := buildCustomCert (b64enc $s.Cert) (b64enc $s.Key) }}{{ eq $c.Cert $s.Cert }} {{ eq $c.Key $s.Key }}`,
		`{{ $k := genPrivateKey "ecdsa" }}{{ $s := genSelfSignedCertWithKey "x" nil nil 30 $k }}{{ eq $s.Key $k }}`,
		`{{ $k := genPrivateKey "ecdsa" }}{{ genSelfSignedCertWithKey "x" (list "bad") nil 30 $k }}`,
		`{{ $k := genPrivateKey "ecdsa" }}{{ genSelfSignedCertWithKey "x" (list 5) nil 30 $k }}`,
		`{{ $k := genPrivateKey "ecdsa" }}{{ genSelfSignedCertWithKey "x" nil (list 5) 30 $k }}`,
		`{{ $k := genPrivateKey "ecdsa" }}{{ genSelfSignedCertWithKey "x" (splitList "," "a") nil 30 $k }}`,
		`{{ genCAWithKey "x" 1 "" }}`, `{{ genCAWithKey "x" 1 "-----BEGIN X-----\nAAAA\n-----END X-----\n" }}`, `{{ genCAWithKey "x" 1 "-----BEGIN FOO PRIVATE KEY-----\nAAAA\n-----END FOO PRIVATE KEY-----\n" }}`,
		`{{ buildCustomCert "!" "" }}`, `{{ buildCustomCert "" "!" }}`, `{{ buildCustomCert "" "" }}`, `{{ buildCustomCert "YQ==" "YQ==" }}`,
		`{{ genSignedCert "x" nil nil 1 "no" }}`, `{{ genSignedCert "x" nil nil 1 }}`, `{{ genCA 5 5 }}`, `{{ genCA "x" "y" }}`, `{{ (genCAWithKey "x" 1 (genPrivateKey "ecdsa")).Nope }}`,
		`{{ $ca := genCAWithKey "my-ca" 365 (genPrivateKey "ed25519") }}{{ $ca.Cert | len | lt 100 }} {{ $ca.Cert | trunc 27 }}`,
	}
}

// sprigVersions goes through the methods of versions.
func sprigVersions() []string {
	var texts []string
	for _, version := range []string{"v1.2.3-rc.1+b2", "0.9", "18446744073709551615.18446744073709551615.18446744073709551615", "nope", ""} {
		for _, method := range []string{
			"", ".Major", ".Minor", ".Patch", ".Prerelease", ".Metadata", ".Original", ".String", ".IncMajor", ".IncMinor", ".IncPatch", ".IncMajor.Original", ".IncMajor.Major", ".IncMajor.IncMinor.IncPatch", `.SetPrerelease "beta.1"`, `.SetPrerelease ""`, `.SetPrerelease "01"`, `.SetPrerelease "a_b"`, `.SetMetadata "x.y"`, `.SetMetadata "a..b"`, `.SetMetadata ""`, `.Nope`, `.Compare (semver "1.2.3")`, `.Equal (semver "0.9.0")`, `.LessThan (semver "1.2.3")`, `.GreaterThan (semver "1.2.3")`, `.LessThanEqual (semver "1.2.3")`, `.GreaterThanEqual (semver "1.2.3")`, `.Compare nil`, `.Equal nil`, `.Compare 5`, `.Compare`, `.Value`, `.Compare (semver "1").IncMajor`,
		} {
			texts = append(texts, fmt.Sprintf("{{ (semver %q)%s }}", version, method), fmt.Sprintf("{{ $v := semver %q }}{{ $v%s | typeOf }}", version, method))
		}
		texts = append(texts, fmt.Sprintf("{{ semver %q | toJson }} {{ semver %q | quote }} {{ semver %q | kindOf }}", version, version, version))
	}
	texts = append(texts, calls("semverCompare", `"^1.2" "1.3.0"`, `"" "1.0.0"`, `"^^1" "1.0.0"`, `"1" ""`, `"1" "x"`, `">=1.2" "v1.3"`, `"1"`, `1 "1"`, `"a\"b" "1"`, `(b64dec "/w==") "1"`, `"1" (b64dec "/w==")`, `(repeat 513 "1") "1"`, `(repeat 33 "1||") "1"`, `"1" (repeat 257 "1")`, `"é" "1"`)...)
	texts = append(texts, `{{ deepEqual (semver "1.2.3") (semver "1.2.3") }} {{ deepEqual (semver "1.2.3") (semver "v1.2.3") }} {{ deepEqual (semver "1").IncMajor (semver "1").IncMajor }}`, `{{ if semver "0.0.0" }}y{{ end }} {{ empty (semver "0") }} {{ list (semver "1") }} {{ dict "a" (semver "v1") }}`)
	return texts
}
