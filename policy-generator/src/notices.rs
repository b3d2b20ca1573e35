//! What an author should know of a document for which policies are generated all the same.

/// How much a notice matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    /// Part of the document has no effect, or another one than it says. `--strict` makes it an error.
    Warning,
    /// What is generated as upstream generates it does less than its name promises.
    Hint,
}

/// A sentence for the author.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Notice {
    pub(crate) level: Level,
    pub(crate) text: String,
}

/// The notices of one document, each of them once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Notices(Vec<Notice>);

impl Notices {
    pub(crate) fn warn(&mut self, text: String) {
        self.add(Level::Warning, text);
    }

    pub(crate) fn hint(&mut self, text: String) {
        self.add(Level::Hint, text);
    }

    fn add(&mut self, level: Level, text: String) {
        let notice = Notice { level, text };
        if !self.0.contains(&notice) {
            self.0.push(notice);
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Notice> {
        self.0.iter()
    }
}
