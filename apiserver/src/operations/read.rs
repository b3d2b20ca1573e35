//! Reading one object.

use super::{ObjectRequest, Reply};
use crate::status_error::StatusError;

impl ObjectRequest {
    pub(crate) fn get(self) -> Result<(Self, Reply), StatusError> {
        let stored = self.current()?;
        let object = self.in_request_version(stored.value());
        Ok((self, Reply::Object(200, object)))
    }
}
