"""Writes unified diffs made by Python's difflib to fixtures/difflib.json.

The sides are texts the way the controller diffs them: each line keeps its line break and one empty line ends
each side. Cases are seeded: the same file every time.
"""

import difflib
import json
import pathlib
import random


def lines(text):
    return [line + "\n" for line in text.split("\n")]


def unified(a, b):
    return "".join(difflib.unified_diff(lines(a), lines(b), "ns/name : existing", "ns/name : updated", n=5))


def cases():
    rng = random.Random(11)
    yield "", ""
    yield "a: 1\n", ""
    yield "", "a: 1\n"
    yield "a: 1\n", "a: 1\n"
    yield "a: 1\n", "a: 1\nb: 2\n"
    yield "a: 1\nb: 2\n", "a: 1\n"
    # Few different lines: long common runs, moved blocks, repeated lines.
    for size in (3, 10, 30, 80, 150):
        for variety in (2, 5, 40):
            for _ in range(6):
                a = [f"line {rng.randrange(variety)}" for _ in range(rng.randrange(size + 1))]
                b = list(a)
                for _ in range(rng.randrange(6)):
                    at = rng.randrange(len(b) + 1)
                    if rng.random() < 0.5:
                        b.insert(at, f"line {rng.randrange(variety)}")
                    elif b:
                        b.pop(min(at, len(b) - 1))
                yield "\n".join(a) + "\n", "\n".join(b) + "\n"
    # 200 lines and more: lines that make up over 1 % of a side are "popular" and start no match.
    for size in (199, 200, 250, 600):
        for variety in (3, 30, 150, 1000):
            a = [f"line {rng.randrange(variety)}" for _ in range(size)]
            b = list(a)
            rng.shuffle(b) if rng.random() < 0.2 else b.insert(size // 2, "new")
            del b[10:15]
            b[40:40] = a[100:110]
            yield "\n".join(a) + "\n", "\n".join(b) + "\n"
    manifest = [f"  key{i}:\n  - name: x\n    value: {i}" for i in range(90)]
    changed = list(manifest)
    changed[7] = "  key7: {}"
    del changed[40]
    changed.insert(70, "  extra: true")
    yield "\n".join(manifest) + "\n", "\n".join(changed) + "\n"


target = pathlib.Path(__file__).with_name("fixtures") / "difflib.json"
target.write_text(json.dumps([{"a": a, "b": b, "diff": unified(a, b)} for a, b in cases()], indent=0) + "\n")
