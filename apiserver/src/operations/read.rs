//! Reading one object.

use super::{Call, Reply};
use crate::failure::Failure;

impl Call {
    pub(crate) fn get(self) -> Result<(Self, Reply), Failure> {
        let stored = self.current()?;
        let object = self.presented(stored.value());
        Ok((self, Reply::Object(200, object)))
    }
}
