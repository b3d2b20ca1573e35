//! The characters of a YAML stream, decoded piece by piece.
//!
//! The algorithm is libyaml's `reader.c`. Pieces of the same size are decoded as in go-yaml,
//! because that decides which of two errors in one document is found first.

use super::error::Problem;

/// How many bytes are looked at in one go.
const PIECE: usize = 512;

/// A position in the text; lines and columns count from zero, columns in characters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// Characters before this position.
    pub index: usize,
    /// The line, from 0 on.
    pub line: usize,
    /// The column, from 0 on.
    pub column: usize,
    /// Bytes of the input before this position.
    pub byte: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Encoding {
    Utf8,
    Utf16Little,
    Utf16Big,
}

/// Decoded text with a position in it.
pub struct Reader<'a> {
    input: &'a [u8],
    /// How much of the input is decoded.
    decoded: usize,
    /// Where the piece ends that is being decoded.
    piece_end: usize,
    encoding: Option<Encoding>,
    text: Vec<u8>,
    position: usize,
    /// Characters that are decoded and not yet consumed.
    unread: usize,
    /// Where the scanner stands.
    pub mark: Mark,
    /// Line breaks since the last character that was not blank.
    pub newlines: usize,
}

impl<'a> Reader<'a> {
    /// A reader of this input.
    pub fn new(input: &'a [u8]) -> Self {
        Self {
            input,
            decoded: 0,
            piece_end: 0,
            encoding: None,
            text: Vec::new(),
            position: 0,
            unread: 0,
            mark: Mark::default(),
            newlines: 0,
        }
    }

    /// Makes sure that this many characters are decoded, or the end is reached.
    pub fn need(&mut self, characters: usize) -> Result<(), Problem> {
        if self.unread >= characters {
            return Ok(());
        }
        let encoding = match self.encoding {
            Some(encoding) => encoding,
            None => self.start(),
        };
        while self.unread < characters {
            if self.decoded >= self.input.len() {
                // At the end every read returns NUL.
                self.unread += 1;
                break;
            }
            let before = self.decoded;
            self.decode_piece(encoding)?;
            if self.decoded == before {
                self.piece_end = self.input.len().min(self.decoded + PIECE);
                let incomplete = self.decode_piece(encoding)?;
                if let (Some(problem), true) = (incomplete, self.decoded == before) {
                    return Err(Problem::reader(problem));
                }
            }
        }
        Ok(())
    }

    fn start(&mut self) -> Encoding {
        let (encoding, mark_length) = match self.input {
            [0xff, 0xfe, ..] => (Encoding::Utf16Little, 2),
            [0xfe, 0xff, ..] => (Encoding::Utf16Big, 2),
            [0xef, 0xbb, 0xbf, ..] => (Encoding::Utf8, 3),
            _ => (Encoding::Utf8, 0),
        };
        self.encoding = Some(encoding);
        self.decoded = mark_length;
        self.mark.byte = mark_length;
        self.piece_end = self.input.len().min(PIECE);
        encoding
    }

    /// Decodes the characters that are in the current piece as a whole. Returns the error to report should
    /// the input end within the character that follows.
    fn decode_piece(&mut self, encoding: Encoding) -> Result<Option<&'static str>, Problem> {
        while self.decoded < self.piece_end {
            let rest = self.input.get(self.decoded..self.piece_end).unwrap_or(&[]);
            let next = match encoding {
                Encoding::Utf8 => decode_utf8(rest)?,
                Encoding::Utf16Little => decode_utf16(rest, u16::from_le_bytes)?,
                Encoding::Utf16Big => decode_utf16(rest, u16::from_be_bytes)?,
            };
            let (character, width) = match next {
                Next::Character(character, width) => (character, width),
                Next::Incomplete(problem) => return Ok(Some(problem)),
            };
            if !is_allowed(character) {
                return Err(Problem::reader("control characters are not allowed"));
            }
            self.decoded += width;
            let mut buffer = [0; 4];
            self.text
                .extend_from_slice(character.encode_utf8(&mut buffer).as_bytes());
            self.unread += 1;
        }
        Ok(None)
    }

    /// The byte this far ahead; NUL at the end.
    pub fn at(&self, ahead: usize) -> u8 {
        self.text.get(self.position + ahead).copied().unwrap_or(0)
    }

    /// Whether the input ends here.
    pub fn is_end(&self) -> bool {
        self.at(0) == 0
    }

    /// A space or a tab this far ahead.
    pub fn is_blank(&self, ahead: usize) -> bool {
        matches!(self.at(ahead), b' ' | b'\t')
    }

    /// How many bytes the line break this far ahead has, 0 when there is none.
    fn break_width(&self, ahead: usize) -> usize {
        match self.at(ahead) {
            b'\r' | b'\n' => 1,
            0xc2 if self.at(ahead + 1) == 0x85 => 2,
            0xe2 if self.at(ahead + 1) == 0x80 && matches!(self.at(ahead + 2), 0xa8 | 0xa9) => 3,
            _ => 0,
        }
    }

    /// A line break this far ahead.
    pub fn is_break(&self, ahead: usize) -> bool {
        self.break_width(ahead) > 0
    }

    /// A line break or the end this far ahead.
    pub fn is_break_or_end(&self, ahead: usize) -> bool {
        self.at(ahead) == 0 || self.is_break(ahead)
    }

    /// A blank, a line break or the end this far ahead.
    pub fn is_blank_or_end(&self, ahead: usize) -> bool {
        self.is_blank(ahead) || self.is_break_or_end(ahead)
    }

    /// Whether a second byte order mark begins the text. One that stands elsewhere go-yaml takes
    /// for a letter.
    pub fn is_byte_order_mark(&self) -> bool {
        self.position == 0 && self.text.starts_with(&[0xef, 0xbb, 0xbf])
    }

    /// A letter, digit, `_` or `-`.
    pub fn is_word(&self) -> bool {
        matches!(self.at(0), b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'_' | b'-')
    }

    /// A document marker of three of these at the start of a line.
    pub fn is_document_marker(&self, sign: u8) -> bool {
        self.mark.column == 0
            && (0..3).all(|ahead| self.at(ahead) == sign)
            && self.is_blank_or_end(3)
    }

    fn advance(&mut self, bytes: usize, characters: usize) {
        self.position += bytes;
        self.mark.byte += bytes;
        self.mark.index += characters;
        self.unread = self.unread.saturating_sub(characters);
    }

    fn width(&self) -> usize {
        match self.at(0) {
            0xc0..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf7 => 4,
            _ => 1,
        }
    }

    /// Passes over one character that is not a line break.
    pub fn skip(&mut self) {
        if !self.is_blank(0) {
            self.newlines = 0;
        }
        self.mark.column += 1;
        self.advance(self.width(), 1);
    }

    /// Passes over several characters.
    pub fn skip_many(&mut self, characters: usize) {
        for _ in 0..characters {
            self.skip();
        }
    }

    fn next_line(&mut self, bytes: usize, characters: usize) {
        self.advance(bytes, characters);
        self.mark.column = 0;
        self.mark.line += 1;
        self.newlines += 1;
    }

    /// Passes over a line break, if one is here.
    pub fn skip_line(&mut self) {
        if self.at(0) == b'\r' && self.at(1) == b'\n' {
            self.next_line(2, 2);
        } else {
            let width = self.break_width(0);
            if width > 0 {
                self.next_line(width, 1);
            }
        }
    }

    /// Passes over one character and appends it.
    pub fn read(&mut self, into: &mut Vec<u8>) {
        let end = self.position + self.width();
        if let Some(bytes) = self.text.get(self.position..end) {
            into.extend_from_slice(bytes);
        }
        self.skip();
    }

    /// Passes over a line break and appends it: a line feed, or the Unicode separator it was.
    pub fn read_line(&mut self, into: &mut Vec<u8>) {
        let width = self.break_width(0);
        if width == 0 {
            return;
        }
        if width == 3 {
            let bytes = [self.at(0), self.at(1), self.at(2)];
            into.extend_from_slice(&bytes);
        } else {
            into.push(b'\n');
        }
        if self.at(0) == b'\r' && self.at(1) == b'\n' {
            self.next_line(2, 2);
        } else {
            self.next_line(width, 1);
        }
    }
}

enum Next {
    Character(char, usize),
    /// The piece ends within a character; the text is for when the input ends there, too.
    Incomplete(&'static str),
}

fn is_allowed(character: char) -> bool {
    matches!(character,
        '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' | '\u{a0}'..='\u{d7ff}'
        | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
}

fn decode_utf8(bytes: &[u8]) -> Result<Next, Problem> {
    let first = bytes.first().copied().unwrap_or(0);
    let (width, bits) = match first {
        0..=0x7f => (1, first),
        0xc0..=0xdf => (2, first & 0x1f),
        0xe0..=0xef => (3, first & 0x0f),
        0xf0..=0xf7 => (4, first & 0x07),
        _ => return Err(Problem::reader("invalid leading UTF-8 octet")),
    };
    let Some(trailing) = bytes.get(1..width) else {
        return Ok(Next::Incomplete("incomplete UTF-8 octet sequence"));
    };
    let mut value = u32::from(bits);
    for octet in trailing {
        if octet & 0xc0 != 0x80 {
            return Err(Problem::reader("invalid trailing UTF-8 octet"));
        }
        value = (value << 6) | u32::from(octet & 0x3f);
    }
    if matches!((width, value), (2, ..0x80) | (3, ..0x800) | (4, ..0x1_0000)) {
        return Err(Problem::reader("invalid length of a UTF-8 sequence"));
    }
    match char::from_u32(value) {
        Some(character) => Ok(Next::Character(character, width)),
        None => Err(Problem::reader("invalid Unicode character")),
    }
}

fn decode_utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Result<Next, Problem> {
    let Some([a, b]) = bytes.first_chunk() else {
        return Ok(Next::Incomplete("incomplete UTF-16 character"));
    };
    let first = unit([*a, *b]);
    if first & 0xfc00 == 0xdc00 {
        return Err(Problem::reader("unexpected low surrogate area"));
    }
    if first & 0xfc00 != 0xd800 {
        let character = char::from_u32(first.into()).unwrap_or(char::REPLACEMENT_CHARACTER);
        return Ok(Next::Character(character, 2));
    }
    let Some([_, _, c, d]) = bytes.first_chunk() else {
        return Ok(Next::Incomplete("incomplete UTF-16 surrogate pair"));
    };
    let second = unit([*c, *d]);
    if second & 0xfc00 != 0xdc00 {
        return Err(Problem::reader("expected low surrogate area"));
    }
    let value = 0x1_0000 + (u32::from(first & 0x3ff) << 10) + u32::from(second & 0x3ff);
    let character = char::from_u32(value).unwrap_or(char::REPLACEMENT_CHARACTER);
    Ok(Next::Character(character, 4))
}
