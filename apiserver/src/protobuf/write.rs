//! Writing Protobuf's wire format.

/// A message that is written.
#[derive(Default)]
pub(super) struct Message {
    bytes: Vec<u8>,
}

impl Message {
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    pub(super) fn text(&mut self, number: u64, text: &str) {
        self.delimited(number, text.as_bytes());
    }

    pub(super) fn message(&mut self, number: u64, message: &Self) {
        self.delimited(number, &message.bytes);
    }

    pub(super) fn integer(&mut self, number: u64, value: i64) {
        self.varint(number << 3);
        self.varint(value.cast_unsigned());
    }

    pub(super) fn boolean(&mut self, number: u64, value: bool) {
        self.integer(number, value.into());
    }

    pub(super) fn double(&mut self, number: u64, value: f64) {
        self.varint(number << 3 | 1);
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    fn delimited(&mut self, number: u64, bytes: &[u8]) {
        self.varint(number << 3 | 2);
        self.varint(bytes.len() as u64);
        self.bytes.extend_from_slice(bytes);
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes
                .push(u8::try_from(value & 0x7f).unwrap_or_default() | 0x80);
            value >>= 7;
        }
        self.bytes.push(u8::try_from(value).unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use super::super::wire::{Field, Fields};
    use super::*;

    #[test]
    fn protobuf_fields_round_trip() {
        let mut inner = Message::default();
        inner.text(1, &"tea ".repeat(100));
        let mut message = Message::default();
        message.integer(1, -1);
        message.integer(2, 300);
        message.boolean(3, true);
        message.double(4, 0.5);
        message.message(31, &inner);
        let bytes = message.into_bytes();
        let fields: Vec<_> = Fields::of(&bytes).collect::<Result<_, _>>().unwrap();
        let shown: Vec<String> = fields
            .into_iter()
            .map(|(number, field)| match field {
                Field::Integer(integer) => format!("{number}: {}", integer.cast_signed()),
                Field::Double(double) => format!("{number}: {double}"),
                Field::Bytes(bytes) => format!("{number}: {} bytes", bytes.len()),
            })
            .collect();
        assert_eq!(
            shown,
            ["1: -1", "2: 300", "3: 1", "4: 0.5", "31: 403 bytes"]
        );
    }
}
