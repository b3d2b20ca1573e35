//! The flags.

use std::path::PathBuf;

use clap::ValueEnum;
use reeve_report::Output;

/// Which findings make the exit code 2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum FailOn {
    /// Errors.
    Error,
    /// Errors and warnings.
    #[default]
    Warning,
    /// None.
    None,
}

/// What is linted.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(after_help = "Examples:
  reeve lint policies/                    the files of a folder and of the folders in it
  reeve lint -o sarif policies/ > lint.sarif
                                          for code scanning, with lines and columns
  reeve lint --fix policies/              mend what can be mended safely
  reeve generate generator.yaml | reeve lint -
  reeve lint --rules                      all rules

A comment `# reeve-lint: ignore RVL102` on a line, or on the line above it, ignores a rule there; --ignore does everywhere.

Exit codes: 0 no findings, 1 could not run, 2 findings (see --fail-on), 64 usage. docs/lint.md has every rule.")]
pub struct Args {
    /// Files and folders (read recursively), or - for standard input.
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// A file or folder with CRDs, whose schemas objects are checked with. CRDs among the linted files count, too.
    #[arg(long, value_name = "PATH")]
    pub crds: Vec<PathBuf>,
    /// A rule that is not applied. May be given several times.
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    pub ignore: Vec<String>,
    /// Mend what can be mended safely, in the files.
    #[arg(long)]
    pub fix: bool,
    /// List the rules.
    #[arg(long)]
    pub rules: bool,
    /// Which findings make the exit code 2.
    #[arg(long, value_enum, default_value_t, value_name = "LEVEL")]
    pub fail_on: FailOn,
    /// The form of the findings.
    #[arg(short, long, value_enum, default_value_t, value_name = "FORM")]
    pub output: Output,
}
