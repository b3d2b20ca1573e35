//! How the program was called, and what a run comes to.

const WRONG_INPUT: u8 = 1;
const WRONG_USAGE: u8 = 64;

/// How the program was called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caller {
    /// By upstream's name: the first document counts, and a kubeconfig has to be there in any case.
    Upstream,
    /// As a command of Reeve: all documents count, a cluster is needed where something is read, and wrong usage has an exit
    /// code of its own.
    Reeve,
}

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
    /// An error about arguments, with the usage text.
    pub(crate) fn usage(text: &str, usage: &str, caller: Caller) -> Self {
        Self {
            stderr: format!("Error: {text}\n{usage}\n"),
            code: match caller {
                Caller::Upstream => WRONG_INPUT,
                Caller::Reeve => WRONG_USAGE,
            },
            ..Self::default()
        }
    }

    /// An error about the input, with the usage text.
    pub(crate) fn input(text: &str, usage: &str) -> Self {
        Self {
            stderr: format!("Error: {text}\n{usage}\n"),
            code: WRONG_INPUT,
            ..Self::default()
        }
    }

    pub(crate) fn aside(&mut self, line: &str) {
        self.stderr.push_str(line);
        self.stderr.push('\n');
    }
}
