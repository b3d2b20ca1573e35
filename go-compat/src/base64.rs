//! Base64 as Go's `encoding/base64` reads it: standard alphabet, padded, newlines ignored.

/// Decodes; the error is Go's text.
pub fn decode(text: &[u8]) -> Result<Vec<u8>, String> {
    Decoder {
        text,
        position: 0,
        out: Vec::with_capacity(text.len() / 4 * 3),
    }
    .run()
    .map_err(|place| format!("illegal base64 data at input byte {place}"))
}

struct Decoder<'a> {
    text: &'a [u8],
    position: usize,
    out: Vec<u8>,
}

impl Decoder<'_> {
    fn next(&mut self) -> Option<u8> {
        let byte = self.text.get(self.position).copied()?;
        self.position += 1;
        Some(byte)
    }

    fn skip_newlines(&mut self) {
        while matches!(self.text.get(self.position), Some(b'\n' | b'\r')) {
            self.position += 1;
        }
    }

    /// The error is the place of the offending byte, as Go counts it.
    fn run(mut self) -> Result<Vec<u8>, usize> {
        while self.position < self.text.len() {
            if !self.quantum()? {
                break;
            }
        }
        Ok(self.out)
    }

    /// Four characters; false at the end.
    fn quantum(&mut self) -> Result<bool, usize> {
        let mut digits = [0_u8; 4];
        let mut count = 0;
        let mut last = false;
        while count < 4 {
            let Some(byte) = self.next() else {
                if count == 0 {
                    return Ok(false);
                }
                return Err(self.position - count);
            };
            if let Some(digit) = digit(byte) {
                if let Some(place) = digits.get_mut(count) {
                    *place = digit;
                }
                count += 1;
                continue;
            }
            if byte == b'\n' || byte == b'\r' {
                continue;
            }
            if byte != b'=' || count < 2 {
                return Err(self.position - 1);
            }
            self.padding(count)?;
            last = true;
            break;
        }
        let [a, b, c, d] = digits;
        let number = u32::from(a) << 18 | u32::from(b) << 12 | u32::from(c) << 6 | u32::from(d);
        let [_, first, second, third] = number.to_be_bytes();
        let bytes = [first, second, third];
        self.out
            .extend_from_slice(bytes.get(..count - 1).unwrap_or_default());
        Ok(!last)
    }

    /// Padding after so many characters; nothing may follow it.
    fn padding(&mut self, count: usize) -> Result<(), usize> {
        if count == 2 {
            self.skip_newlines();
            if self.position == self.text.len() {
                return Err(self.text.len());
            }
            if self.text.get(self.position) != Some(&b'=') {
                return Err(self.position - 1);
            }
            self.position += 1;
        }
        self.skip_newlines();
        if self.position < self.text.len() {
            return Err(self.position);
        }
        Ok(())
    }
}

fn digit(byte: u8) -> Option<u8> {
    Some(match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    })
}
