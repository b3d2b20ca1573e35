package main

import (
	"fmt"
	"math/rand"
	"strings"
)

// Pieces of which texts for the functions that read a language of their own are put together.
var (
	regexpPieces  = strings.Fields(`a b x é 日 . \d \w \s \W [a-c] [^a] ( (?: (?i) (?i: (?P<n> (?m) (?s) (?U) ) ) ) | * + ? {2} {0,2} {1,} *? +? ^ $ \b \B \A \z \pL \p{Lu} [[:alpha:]] [é-ü] [ ] - \ \Q \E { } 1 K \n`)
	searchedRunes = []string{"a", "b", "x", "é", "日", " ", "\n", "A", "K", "1", "c", "-", "_"}
	layoutPieces  = append(strings.Fields(`2006 06 01 1 Jan January 02 2 _2 002 __2 15 03 3 04 4 05 5 PM pm MST -0700 -07:00 Z0700 Z07:00 -07 Z07 .000 .999 ,00 - : / T x é Mon Monday`), " ")
	datePieces    = append(strings.Fields(`2024 24 01 1 feb March 29 9 366 060 23 11 30 59 60 AM pm CET GMT+2 +0200 -08:00 Z .123 .5 ,25 - : / T x é Thu friday 0`), " ", " 5")
	urlPieces     = append(strings.Fields(`http: // / a b.c : 80 @ u p ? # %20 %zz %41 [ ::1 ] é * .. = & + ; x: %25 < " ^ 1.2.3.4 fe80::1 %25en0`), " ")
	addressPieces = strings.Fields(`: :: 1 ffff fffff 0 . 1.2.3.4 255 256 %25 %25x g 01 a:b:c 1:2:3:4:5:6:7:8 1:2:3:4:5:6`)
	wordPieces    = append(strings.Fields(`a B CD ef 1 23 _ - . é É 日 $ x HTTP ǅ ½ !`), " ", "\t")
	versionPieces = append(strings.Fields(`1 2 0 10 x * . . . - -a -0 +b v , || > < >= <= = != ~ ^ ~> 1.2.3 1.2`), " ", "  ", " - ")
	numberPieces  = strings.Fields(`1 0 9 _ . e x b o - + f p a 99 E inf 5`)
	lengthPieces  = strings.Fields(`1 5 10 h m s ms us ns µs . - + 0 999 d`)
	base32Pieces  = append(strings.Fields(`A M Z 7 = == === 2 a !`), "\n")
)

// sprigRandom puts such texts together, the same ones in every run.
func sprigRandom() []string {
	random := rand.New(rand.NewSource(20261121))
	join := func(pieces []string, most int) string {
		var text strings.Builder
		for n := random.Intn(most + 1); n > 0; n-- {
			text.WriteString(pieces[random.Intn(len(pieces))])
		}
		return text.String()
	}
	var texts []string
	add := func(format string, arguments ...any) { texts = append(texts, fmt.Sprintf(format, arguments...)) }
	cases := []string{"camelcase", "snakecase", "kebabcase", "title", "untitle", "swapcase", "initials", "nospace"}
	for i := 0; i < 220; i++ {
		pattern, searched := join(regexpPieces, 8), join(searchedRunes, 10)
		add("{{ regexFindAll %q %q -1 | toJson }}", pattern, searched)
		add("{{ regexReplaceAll %q %q %q }}", join(regexpPieces, 8), searched, "<$0,$1,$n>")
		add("{{ regexSplit %q %q %d | toJson }}", join(regexpPieces, 5), searched, random.Intn(5)-1)
		layout := join(layoutPieces, 6)
		add("{{ date %q %d }}", layout, random.Int63n(400000000000)-200000000000)
		add("{{ mustToDate %q %q }}", layout, join(datePieces, 7))
		add("{{ mustToDate %q (date %q %d) }}", layout, layout, random.Int63n(8000000000)-3000000000)
		add("{{ urlParse %q | urlJoin }}", join(urlPieces, 9))
		add("{{ urlParse %q }}", "http://["+join(addressPieces, 8)+"]/")
		words := join(wordPieces, 8)
		add("{{ %s %q }}", cases[random.Intn(len(cases))], words)
		add("{{ wrapWith %d %q %q }}|{{ abbrevboth %d %d %q }}", random.Intn(9), "~", words, random.Intn(12)-2, random.Intn(12), words)
		add("{{ semverCompare %q %q }}", join(versionPieces, 6), []string{"1.2.3", "0.1.2", "2.0.0-a", "10.1.0"}[random.Intn(4)])
		add("{{ semver %q }}", join(versionPieces, 6))
		number := join(numberPieces, 6)
		add("{{ int %q }} {{ float64 %q }} {{ toDecimal %q }}", number, number, number)
		add("{{ %s %v %v %v }}", []string{"addf", "subf", "mulf", "divf"}[random.Intn(4)], random.NormFloat64()*1000, random.NormFloat64(), random.Float64()+0.1)
		length := join(lengthPieces, 6)
		add("{{ durationRound %q }} {{ mustDateModify %q (toDate %q %q) }}", length, length, "2006", "2020")
		add("{{ b32dec %q }}", join(base32Pieces, 9))
	}
	return texts
}
