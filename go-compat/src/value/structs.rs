use super::Value;

/// A struct with exported fields, in the order of their declaration.
#[derive(Debug)]
pub struct Struct {
    type_name: String,
    fields: Vec<(String, Value)>,
}

impl Struct {
    /// A struct of this type name (as Go's `%T` prints it) with these fields.
    pub fn new(type_name: impl Into<String>, fields: Vec<(String, Value)>) -> Self {
        Self {
            type_name: type_name.into(),
            fields,
        }
    }

    /// The name as Go prints it.
    pub fn type_name(&self) -> &str {
        &self.type_name
    }

    /// The fields.
    pub fn fields(&self) -> &[(String, Value)] {
        &self.fields
    }

    /// One field.
    pub fn field(&self, name: &str) -> Option<&Value> {
        self.fields
            .iter()
            .find_map(|(field, value)| (field == name).then_some(value))
    }

    pub(super) fn deep_copy(&self) -> Self {
        let fields = self.fields.iter();
        Self {
            type_name: self.type_name.clone(),
            fields: fields
                .map(|(name, value)| (name.clone(), value.deep_copy()))
                .collect(),
        }
    }

    pub(super) fn deep_equal(&self, other: &Self) -> bool {
        self.type_name == other.type_name
            && self.fields.len() == other.fields.len()
            && self
                .fields
                .iter()
                .zip(&other.fields)
                .all(|((a, x), (b, y))| a == b && x.deep_equal(y))
    }
}
