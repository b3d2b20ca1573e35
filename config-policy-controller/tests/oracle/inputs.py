"""Writes the inputs of the YAML, quantity and Sprint oracles to standard output as JSON.

Usage: python3 inputs.py yaml|quantity|sprint
The random part is seeded: the same inputs every time.
"""

import itertools
import json
import random
import sys

WORDS = (
    "y n yes no on off true false null ~ Null NULL Yes TRUE True Off 0 1 -1 +1 007 0o7 0x1F 0b11 1_000 1.0 1.5e3 1e3 "
    ".5 5. . .. ... --- - -- -a --- ? ?a : :a a: # #a a#b & &a * *a ! !a | |a > >a % %a @ @a ` `a { } [ ] , , = == << "
    "12:30 12:30:45 1:2 190:20:30 2001-12-14 2001-12-14T21:59:43Z 2001-1-1 .inf -.inf .nan .NaN +.INF 0.5 1. 1.e5 "
    "a,b [a] {a} a]b 'a' \"a\" it's say\"x\" a\\b "
    "0777 089 1e 1e+ 0x 0b2 _1 1__2 12e03 -2E+05 0. -0 -0.0 nginx:1.25 http://a/b?c=d key:value /path/* *.example.com"
).split()
PHRASES = [
    "", " ", "  a", "a ", "a b", "a: b", "a #b", "a # b", "a :b", "- a", "? a", ": a", "-\tb", "tab\there", "\tlead",
    "line\n", "\n", "\n\n", "two\nlines", "two\nlines\n", "two\nlines\n\n", "\nlead", " lead\nspace", "lead\n  deep\n",
    "trail \nspace", "tab\tin\nlines", "é", "naïve café", "日本語", "emoji 😀", "emoji 😀\nline", "bell\x07", "del\x7f",
    "nbsp\u00a0x", "bom\ufeffx", "\ufeff", "\ufffd", "cr\rx", "crlf\r\nx", "\\", "a\\nb", "\"", "'",
    "x" * 79, "x" * 80, "x" * 81, "x" * 200, "word " * 30, "word " * 30 + "end", "a" * 70 + " " + "b" * 30,
    "a" * 75 + "  " + "b" * 30, ("lorem ipsum dolor " * 12).strip(), "yes " * 40 + "no", ": " * 50, "key: " + "value " * 30,
    "#" + " word" * 40, ("long line " * 12 + "\n") * 3, "'" + "quoted word " * 12, "- " + "item " * 30, "@" + "é " * 60,
    "{\"json\": [1, 2, 3]}", "[1, 2]", "apiVersion: v1\nkind: Pod\n", "#!/bin/sh\necho hi\n", "  indented\n", "a\n b\n", "\ta\n",
    "=", "!!str x", "%YAML", "a,", "a, b", "[", "a [b", "a {b}", "true ", "null ", " true", "2024-01-01 10:00:00", "2024-01-01T10:00:00.5+02:00",
    "1 2", "0 ", "C:\\dir", "$HOME", "${x}", "{{ .x }}", "{{hub x hub}}", "a\u0001\nb", "multi\n\n\nblank\n", "x\n ", "x\n \n", " \nx",
    "a  b", ("a  b " * 30).strip(), "x " + "y" * 100 + " z", "1.2.3", "v1.2.3", "10.0.0.1", "::1", "a::b", "a:", "sha256:abc", "*/5 * * * *",
]


def yaml_inputs():
    rng = random.Random(7)
    texts = list(dict.fromkeys(WORDS + PHRASES))
    out = [{"k": text} for text in texts]
    out += [[text] for text in texts]
    out += [{text: 1} for text in texts]
    # Deep in a tree the first column differs, which decides where a long text folds.
    out += [{"a": {"bb": [{"ccc": text}]}} for text in texts]
    out += [
        {}, [], {"a": {}}, {"a": []}, {"a": [[]]}, {"a": [{}]}, {"a": [[1, 2], [3]]}, {"a": [{"b": 1, "c": [1, {"d": {}}]}]},
        {"k" * 128: 1, "l" * 129: 1, "m" * 129: {"a": 1}, "n" * 129: [1, {"a": 2}], "o" * 200 + " " + "p" * 20: "two\nlines", "q" * 129: {}},
        {"a": {"k" * 130: [[1], {"b": [2]}], "two\nlines": {"c": 1}}}, [{"k" * 130: 1, "b": 2}], {"word " * 30: 1},
        [[["x"]]], [{"a": [{"b": 1}]}], {"a": None, "b": True, "c": False, "d": 0, "e": -5, "f": 1.5, "g": 1e21, "h": 1e-7, "i": 0.000001},
        {"big": 9223372036854775807, "float": 1.0, "million": 1000000.0, "tenth": 0.1, "neg": -0.5, "huge": 123456789012345678901234.0},
        {"message9": 1, "message10": 2, "message1": 3, "message01": 4, "message": 5, "Message9": 6, "a1b2": 1, "a1b10": 2, "a10b1": 3,
         "a-b": 1, "a_b": 2, "a.b": 3, "a/b": 4, "aB": 5, "ab": 6, "a1": 7, "1": 8, "10": 9, "9": 10, "é": 11, "~": 12, "_": 13},
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"annotations": {"openshift.io/sa.scc.mcs": "s0:c26,c5", "a.b/c": "x"}, "name": "n"},
         "spec": {"containers": [{"args": ["--a=b", "-c"], "image": "nginx:1.7.9", "name": "nginx", "ports": [{"containerPort": 80}]}]}},
    ]
    names = ["a", "b", "c1", "c2", "c10", "C", "0", "00", "01", "a-1", "a0", "a00", "a01", "a1", "z9z", "z10z", "9z", "10z", "z", "-", "x0y", "x00y"]
    for size in (2, 5, 12):
        for _ in range(25):
            out.append({name: 1 for name in rng.sample(names, size)})

    alphabet = ["a", "bc", " ", " ", ":", "#", "-", "\n", "'", '"', "\\", "é", "7", ".", ",", "{", "]", "\t", "word", "long-word-here"]
    for _ in range(400):
        out.append({"k": "".join(rng.choice(alphabet) for _ in range(rng.randint(1, 14)))})
    for _ in range(150):
        text = "".join(rng.choice(alphabet[:3] + alphabet[-2:] + [" ", "!", "'", "é"]) for _ in range(rng.randint(30, 120)))
        out.append({"outer": {"k": text, "l": [text]}})

    def tree(depth):
        kind = rng.random()
        if depth == 0 or kind < 0.35:
            return rng.choice([1, 2.5, True, None, "x", "y", "", "a: b", "two\nlines\n", "no", [], {}])
        if kind < 0.65:
            return [tree(depth - 1) for _ in range(rng.randint(0, 3))]
        return {rng.choice(names): tree(depth - 1) for _ in range(rng.randint(0, 4))}

    out += [tree(5) for _ in range(120)]
    return out


def quantity_inputs():
    values = ("1 1.0 1000m 0.5 500m 1Gi 1024Mi 1G 1000M 1e3 1k 1E3 1E 1e 1e+3 1e-3 1m .5 5. . + - +1 -1 -0 0 00 01 1.1.1 1i 1Ki 1ki 1K "
              "m k M n u E Ki Mi e 0m 1n 1000n 1u 0.0000000001 1e-10 1n 1.5Gi 1536Mi 0x1 1_000 NaN inf 1 Gi 100000000000000000000 "
              "1e20 1e999 1e-999 9223372036854775807 9223372036854775808 12345678901234567890123456789012345678901234567890 "
              "+1.0 --1 1+ 1- 1e3k a true 12abc 1Ei 1024Pi 1T 1000G 3.14159 0.1 100m 1P 1Pi 1Ti 1,5 1e+ 1e1.5").split()
    values += ["", " 1", "1 ", "1 Gi", "\u0661"]
    rng = random.Random(3)
    pairs = [[a, a] for a in values]
    pairs += [[a, b] for a, b in itertools.combinations(values, 2) if rng.random() < 0.25]
    return pairs


def sprint_inputs():
    rng = random.Random(5)
    out = [None, True, False, 0, -1, 9223372036854775807, "", "x y", [], {}, [None], {"b": 1, "a": [1, "x", None]}, {"a": {"c": 1.5}},
           1.0, 1e6, 100000.0, 1000000.0, 20999999.0, 21000000.0, 123456789.0, 123456.789, 1e20, 1e21, 1e22, 0.1, 0.0001, 0.00001, 1e-7, 1.5e300, 5e-324,
           -2.5, 1 / 3]
    out += [rng.uniform(-1, 1) * 10 ** rng.randint(-12, 25) for _ in range(200)]
    out += [float(rng.randint(-(10**9), 10**9)) for _ in range(50)]
    return out


if __name__ == "__main__":
    print(json.dumps({"yaml": yaml_inputs, "quantity": quantity_inputs, "sprint": sprint_inputs}[sys.argv[1]]()))
