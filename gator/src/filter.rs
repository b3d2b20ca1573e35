//! `--run`: which tests and cases run.

use std::rc::Rc;

use reeve_go_compat::regexp::Regexp;

use crate::messages;

/// Which tests and cases run.
#[derive(Debug)]
pub enum Filter {
    All,
    /// Tests of this name with all cases, and cases of this name in any test.
    Either(Rc<Regexp>),
    /// `TEST//CASE`: both.
    Both(Rc<Regexp>, Rc<Regexp>),
}

impl Filter {
    pub fn new(run: &str) -> Result<Self, String> {
        let compile = |pattern: &str| {
            Regexp::compile(pattern.as_bytes()).map_err(|error| messages::invalid_filter(&error))
        };
        let parts: Vec<&str> = run.split("//").collect();
        match parts.as_slice() {
            [""] => Ok(Self::All),
            [either] => Ok(Self::Either(compile(either)?)),
            [test, case] => Ok(Self::Both(compile(test)?, compile(case)?)),
            _ => Err(messages::filter_separators()),
        }
    }

    /// Whether some of the test may run.
    pub fn matches_test(&self, test: &str, mut cases: impl Iterator<Item = String>) -> bool {
        match self {
            Self::All => true,
            Self::Either(either) => {
                either.is_match(test.as_bytes())
                    || cases.any(|case| either.is_match(case.as_bytes()))
            }
            Self::Both(pattern, _) => pattern.is_match(test.as_bytes()),
        }
    }

    pub fn matches_case(&self, test: &str, case: &str) -> bool {
        match self {
            Self::All => true,
            Self::Either(either) => {
                either.is_match(test.as_bytes()) || either.is_match(case.as_bytes())
            }
            Self::Both(_, pattern) => pattern.is_match(case.as_bytes()),
        }
    }
}
