//! What a run comes to.

/// What is printed, and the exit code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// For standard output.
    pub stdout: String,
    /// For standard error.
    pub stderr: String,
    /// The exit code.
    pub code: u8,
}

impl Outcome {
    pub(crate) fn error(code: u8, text: &str) -> Self {
        let mut outcome = Self::default();
        outcome.fail(code, text);
        outcome
    }

    /// Adds an error. The smallest code except 0 stays: what could not be evaluated counts more than a violation.
    pub(crate) fn fail(&mut self, code: u8, text: &str) {
        self.aside(&format!("Error: {text}"));
        self.code = match self.code {
            0 => code,
            before => before.min(code),
        };
    }

    pub(crate) fn aside(&mut self, line: &str) {
        self.stderr.push_str(line);
        self.stderr.push('\n');
    }

    pub(crate) fn lines<T: AsRef<str>>(&mut self, lines: &[T]) {
        for line in lines {
            self.stdout.push_str(line.as_ref());
            self.stdout.push('\n');
        }
    }
}
