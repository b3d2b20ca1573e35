//! Damage.

/// A small generator of numbers: the same for the same seed, everywhere.
pub struct Random(u64);

impl Random {
    /// From this seed.
    pub fn new(seed: u64) -> Self {
        Self(seed | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below this one; zero where there is none.
    pub fn below(&mut self, limit: usize) -> usize {
        let limit = u64::try_from(limit).unwrap_or(u64::MAX).max(1);
        usize::try_from(self.next() % limit).unwrap_or(0)
    }

    /// One of these.
    pub fn pick<'a, T>(&mut self, options: &'a [T]) -> Option<&'a T> {
        options.get(self.below(options.len()))
    }
}

/// What is thrown in: the words of both languages, and bytes that are no text.
const PIECES: &[&[u8]] = &[
    b"{{",
    b"}}",
    b"{{-",
    b"-}}",
    b"{{ end }}",
    b"{{ else }}",
    b"{{ range until 9 }}",
    b"{{ if }}",
    b"{{ define \"x\" }}",
    b"{{ template \"x\" . }}",
    b"{{ break }}",
    b"\"",
    b"'",
    b"`",
    b"(",
    b")",
    b"|",
    b"$x",
    b":=",
    b"=",
    b".",
    b"..",
    b",",
    b"/*",
    b"*/",
    b"\n",
    b"\t",
    b"\r\n",
    b" ",
    b"  ",
    b": ",
    b"- ",
    b"? ",
    b"|-\n",
    b">+2\n",
    b"&a ",
    b"*a",
    b"<<: ",
    b"!!int ",
    b"!x ",
    b"[",
    b"]",
    b"{",
    b"}",
    b"#",
    b"%YAML 1.2\n",
    b"---\n",
    b"...\n",
    b"\\",
    b"\\u",
    b"\\x",
    b"\xff",
    b"\xc3",
    b"\xf0\x9f\x98\x80",
    b"\xef\xbb\xbf",
    b"\x00",
    b"\x07",
    b"9999999999999999999",
    b"-1",
    b"1e999",
    b"0x",
    b"nil",
    b"true",
    b"$ocm_encrypted:",
    b"AAAA",
    b"====",
    b"repeat 99999 \"x\"",
    b"until 99999",
    b"printf \"%[9]*.[2]*[1]v\"",
    b"regexMatch \"(a*)*b{999}\" ",
    b"toYaml",
    b"fromYaml",
    b"fromJson",
    b"toLiteral",
    b"toInt",
    b"autoindent",
    b"index . -1",
    b"substr -9 99 \"a\"",
    b"slice (list 1) 9",
    b"semverCompare \"^x || <\" ",
    b"toDate \"2006-01-02T15:04:05Z07:00\" ",
    b"dict \"a\"",
    b"set . \"a\" .",
];

/// Changes a few places of an input.
pub(crate) fn damage(input: &mut Vec<u8>, random: &mut Random, other: &[u8]) {
    for _ in 0..=random.below(4) {
        let at = random.below(input.len() + 1);
        let rest = input.len() - at;
        match random.below(7) {
            0 => {
                let piece = random.pick(PIECES).copied().unwrap_or_default();
                input.splice(at..at, piece.iter().copied());
            }
            1 => {
                let end = at + random.below(rest.min(12) + 1);
                input.drain(at..end);
            }
            2 if rest > 0 => {
                let byte = u8::try_from(random.below(256)).unwrap_or_default();
                input.splice(at..=at, [byte]);
            }
            3 => {
                let end = at + random.below(rest.min(60) + 1);
                let copy = input.get(at..end).unwrap_or_default().to_vec();
                let times = 1 + random.below(5);
                input.splice(at..at, copy.repeat(times));
            }
            4 => input.truncate(at),
            5 => {
                let start = random.below(other.len());
                let end = start
                    + random
                        .below(other.len() - start.min(other.len()) + 1)
                        .min(80);
                let graft = other.get(start..end).unwrap_or_default().to_vec();
                input.splice(at..at, graft);
            }
            _ => {
                let piece = random.pick(PIECES).copied().unwrap_or_default();
                let end = at + random.below(rest.min(4) + 1);
                input.splice(at..end, piece.iter().copied());
            }
        }
    }
}
