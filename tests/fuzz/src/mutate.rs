//! Random mutations of inputs.

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
pub(crate) const PIECES: &[&[u8]] = &[
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

/// What is thrown into requests and parts of requests.
pub(crate) const SERVED: &[&[u8]] = &[
    b"/",
    b"//",
    b"?",
    b"&",
    b"=",
    b"%",
    b"%2F",
    b"%00",
    b"%ff",
    b"..",
    b"\n",
    b"\n\n",
    b": ",
    b" ",
    b",",
    b"!",
    b"!=",
    b"==",
    b"in (",
    b"notin (",
    b"()",
    b")",
    b"(",
    b"<",
    b">",
    b"watch=1",
    b"&watch=true",
    b"&limit=1",
    b"&limit=-1",
    b"&limit=99999999999999999999",
    b"&continue=",
    b"&resourceVersion=0",
    b"&resourceVersion=18446744073709551615",
    b"&resourceVersionMatch=Exact",
    b"&sendInitialEvents=true",
    b"&allowWatchBookmarks=1",
    b"&timeoutSeconds=0",
    b"&dryRun=All",
    b"&fieldManager=x",
    b"&force=true",
    b"&fieldValidation=Strict",
    b"&propagationPolicy=Foreground",
    b"&gracePeriodSeconds=-1",
    b"&labelSelector=",
    b"&fieldSelector=",
    b"&includeObject=Object",
    b"/status",
    b"/scale",
    b"/token",
    b"/api/v1",
    b"/apis/",
    b"/openapi/v3",
    b"/openapi/v2",
    b"/version",
    b"PUT ",
    b"PATCH ",
    b"DELETE ",
    b"GET ",
    b"accept: application/json;as=Table;v=v1;g=meta.k8s.io\n",
    b"accept: application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io\n",
    b"accept: application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList\n",
    b"accept: application/yaml\n",
    b"content-type: application/yaml\n",
    b"content-type: application/vnd.kubernetes.protobuf\n",
    b"content-type: application/merge-patch+json\n",
    b"content-type: application/apply-patch+yaml\n",
    b"impersonate-user: a\n",
    b"impersonate-group: b\n",
    b"authorization: Bearer a.b.c\n",
    b"{",
    b"}",
    b"[",
    b"]",
    b"\"",
    b"null",
    b"true",
    b"0",
    b"-1",
    b"1e999",
    b"9223372036854775808",
    b"0.1",
    b"\\u0000",
    b"\xff",
    b"\x00",
    b"\xf0\x9f\x98\x80",
    b"&a ",
    b"*a",
    b"<<: ",
    b"---\n",
    b"- ",
    b"|\n",
    b"k8s\0",
    b"\x0a\xff\xff\xff\xff\x0f",
    b"\x80\x80\x80\x80\x80\x80",
    b"self",
    b"oldSelf",
    b".all(x, ",
    b".exists(x, ",
    b".map(x, ",
    b".filter(x, ",
    b"has(self.text)",
    b"self.list",
    b"self.map",
    b".size()",
    b".matches('(a*)*$')",
    b"[0]",
    b"[-1]",
    b"['a']",
    b" + ",
    b" - ",
    b" * ",
    b" / 0",
    b" % 0",
    b" && ",
    b" || ",
    b" ? ",
    b" : ",
    b" in ",
    b"int(",
    b"uint(",
    b"double('x')",
    b"string(",
    b"bytes(",
    b"duration('99999999h')",
    b"timestamp('9999-12-31T23:59:59Z')",
    b".getHours('x/y')",
    b"-9223372036854775808",
    b"9223372036854775807",
    b".substring(9, 1)",
    b".charAt(-1)",
    b".split('')",
    b".join()",
    b".format([1])",
    b"'%d %s'.format([1, 'x'])",
    b"optional.of(",
    b".?x",
    b"[?0]",
    b"quantity('1')",
    b".add(",
    b"cidr('1.2.3.4/33')",
    b"url('::')",
    b"semver('1.2.3')",
    b"'",
    b"r'",
    b"b'\\xff'",
];

/// Changes a few places of an input.
pub(crate) fn damage(input: &mut Vec<u8>, random: &mut Random, other: &[u8], pieces: &[&[u8]]) {
    for _ in 0..=random.below(4) {
        let at = random.below(input.len() + 1);
        let rest = input.len() - at;
        match random.below(7) {
            0 => {
                let piece = random.pick(pieces).copied().unwrap_or_default();
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
                let piece = random.pick(pieces).copied().unwrap_or_default();
                let end = at + random.below(rest.min(4) + 1);
                input.splice(at..end, piece.iter().copied());
            }
        }
    }
}
