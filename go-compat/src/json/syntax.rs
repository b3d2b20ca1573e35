//! Go's words for JSON that is not.

use super::JsonError;

/// `invalid character 'x' <where>`.
pub(super) fn invalid(byte: u8, place: &str) -> JsonError {
    JsonError::Syntax(format!("invalid character {} {place}", quote(byte)))
}

pub(super) fn unexpected_end() -> JsonError {
    JsonError::Syntax("unexpected end of JSON input".to_owned())
}

/// A byte, taken for the character of that number, as a Go character literal.
fn quote(byte: u8) -> String {
    match byte {
        b'\'' => r"'\''".to_owned(),
        b'\\' => r"'\\'".to_owned(),
        0x07 => r"'\a'".to_owned(),
        0x08 => r"'\b'".to_owned(),
        0x0c => r"'\f'".to_owned(),
        b'\n' => r"'\n'".to_owned(),
        b'\r' => r"'\r'".to_owned(),
        b'\t' => r"'\t'".to_owned(),
        0x0b => r"'\v'".to_owned(),
        0x00..0x20 | 0x7f => format!(r"'\x{byte:02x}'"),
        // Neither the controls above ASCII, the no-break space nor the soft hyphen are printable.
        0x80..=0xa0 | 0xad => format!(r"'\u{byte:04x}'"),
        _ => format!("'{}'", char::from(byte)),
    }
}
