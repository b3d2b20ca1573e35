//! Protobuf's wire format: fields with numbers.

use super::ProtobufError;

/// What a field holds.
#[derive(Clone, Copy)]
pub(super) enum Field<'a> {
    Integer(u64),
    Double(f64),
    Bytes(&'a [u8]),
}

impl<'a> Field<'a> {
    pub(super) fn bytes(self) -> Result<&'a [u8], ProtobufError> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            _ => Err(ProtobufError::Broken),
        }
    }

    pub(super) fn integer(self) -> Result<i64, ProtobufError> {
        match self {
            Self::Integer(integer) => Ok(integer.cast_signed()),
            _ => Err(ProtobufError::Broken),
        }
    }

    pub(super) fn double(self) -> Result<f64, ProtobufError> {
        match self {
            Self::Double(double) => Ok(double),
            _ => Err(ProtobufError::Broken),
        }
    }
}

/// The fields of a message, in order.
pub(super) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(super) fn of(message: &'a [u8]) -> Self {
        Self { rest: message }
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], ProtobufError> {
        let (taken, rest) = self
            .rest
            .split_at_checked(length)
            .ok_or(ProtobufError::Broken)?;
        self.rest = rest;
        Ok(taken)
    }

    fn varint(&mut self) -> Result<u64, ProtobufError> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.take(1)?.first().copied().unwrap_or_default();
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(ProtobufError::Broken)
    }

    fn field(&mut self) -> Result<(u64, Field<'a>), ProtobufError> {
        let tag = self.varint()?;
        let field = match tag & 7 {
            0 => Field::Integer(self.varint()?),
            1 => {
                let bytes = self.take(8)?.try_into();
                Field::Double(f64::from_le_bytes(
                    bytes.map_err(|_| ProtobufError::Broken)?,
                ))
            }
            2 => {
                let length = usize::try_from(self.varint()?).map_err(|_| ProtobufError::Broken)?;
                Field::Bytes(self.take(length)?)
            }
            // Groups and 32 bits: nothing of Kubernetes is written so.
            _ => return Err(ProtobufError::Broken),
        };
        Ok((tag >> 3, field))
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u64, Field<'a>), ProtobufError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.rest = &[];
        }
        Some(field)
    }
}
