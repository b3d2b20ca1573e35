//! The tokens of a Rego source, as far as rewriting and limits need them.

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    Word,
    Number,
    Text,
    Symbol,
}

/// A token and where it is.
#[derive(Clone, Copy, Debug)]
pub struct Token<'a> {
    pub kind: TokenKind,
    pub text: &'a str,
    pub start: usize,
    pub line: usize,
}

impl Token<'_> {
    pub fn end(&self) -> usize {
        self.start + self.text.len()
    }

    pub fn is(&self, symbol: &str) -> bool {
        self.kind == TokenKind::Symbol && self.text == symbol
    }

    pub fn is_word(&self, word: &str) -> bool {
        self.kind == TokenKind::Word && self.text == word
    }

    /// Whether an expression can end here, so that what follows on a new line is another one.
    pub fn ends_term(&self) -> bool {
        match self.kind {
            TokenKind::Number | TokenKind::Text => true,
            TokenKind::Symbol => matches!(self.text, ")" | "]" | "}"),
            TokenKind::Word => !KEYWORDS.contains(&self.text),
        }
    }

    /// Whether it joins two expressions to one.
    pub fn is_operator(&self) -> bool {
        match self.kind {
            TokenKind::Symbol => !matches!(
                self.text,
                "(" | ")" | "[" | "]" | "{" | "}" | "," | ";" | ":"
            ),
            TokenKind::Word => matches!(self.text, "in" | "not" | "with" | "as" | "else"),
            TokenKind::Number | TokenKind::Text => false,
        }
    }
}

const KEYWORDS: [&str; 14] = [
    "not", "in", "some", "every", "with", "as", "if", "else", "contains", "default", "import",
    "package", "or", "and",
];

/// The tokens without comments. What is not closed ends with the source.
pub fn tokens(source: &str) -> Vec<Token<'_>> {
    let bytes = source.as_bytes();
    let mut tokens = Vec::new();
    let mut position = 0;
    let mut line = 1;
    while let Some(byte) = bytes.get(position).copied() {
        let start = position;
        let first_line = line;
        let kind = match byte {
            b'\n' => {
                line += 1;
                position += 1;
                continue;
            }
            b'#' => {
                position = end_where(bytes, position, |byte| byte == b'\n');
                continue;
            }
            _ if byte.is_ascii_whitespace() => {
                position += 1;
                continue;
            }
            b'"' => {
                position = end_of_text(bytes, position);
                TokenKind::Text
            }
            b'`' => {
                position = end_where(bytes, position + 1, |byte| byte == b'`') + 1;
                TokenKind::Text
            }
            b'0'..=b'9' => {
                position = end_where(bytes, position, |byte| {
                    !(byte.is_ascii_alphanumeric() || byte == b'.')
                });
                TokenKind::Number
            }
            _ if byte == b'_' || byte.is_ascii_alphabetic() || byte >= 0x80 => {
                position = end_where(bytes, position, |byte| {
                    !(byte == b'_' || byte.is_ascii_alphanumeric() || byte >= 0x80)
                });
                TokenKind::Word
            }
            b':' | b'=' | b'!' | b'<' | b'>' if bytes.get(position + 1) == Some(&b'=') => {
                position += 2;
                TokenKind::Symbol
            }
            _ => {
                position += 1;
                TokenKind::Symbol
            }
        };
        position = position.min(bytes.len());
        let Some(text) = source.get(start..position) else {
            continue;
        };
        line += text.bytes().filter(|byte| *byte == b'\n').count();
        tokens.push(Token {
            kind,
            text,
            start,
            line: first_line,
        });
    }
    tokens
}

fn end_where(bytes: &[u8], from: usize, ends: impl Fn(u8) -> bool) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    let length = rest.iter().position(|byte| ends(*byte));
    from + length.unwrap_or(rest.len())
}

fn end_of_text(bytes: &[u8], from: usize) -> usize {
    let mut position = from + 1;
    while let Some(byte) = bytes.get(position) {
        match byte {
            b'\\' => position += 2,
            b'"' => return position + 1,
            _ => position += 1,
        }
    }
    position
}
