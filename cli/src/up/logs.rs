//! The logs of the controllers: in a file, so that they do not destroy what a terminal shows.

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use reeve_runtime::flags::{LogArgs, LogEncoder};

use crate::usage::usage;

/// The level at which nothing is logged.
const OFF: &str = "off";

/// Where and how much is logged.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct LogFileArgs {
    /// Where the controllers log; - is standard error.
    #[arg(long = "log-file", default_value = "reeve-up.log", value_name = "FILE")]
    file: PathBuf,
    /// Logging level: off, error, warn, info, debug, or a number, where larger is more verbose.
    #[arg(long = "log-level", default_value = "warn", value_name = "LEVEL")]
    level: String,
    /// Logging format.
    #[arg(
        long = "log-encoder",
        value_enum,
        default_value_t,
        value_name = "FORMAT"
    )]
    encoder: LogEncoder,
}

impl LogFileArgs {
    /// Starts logging. Returns the file, if there is one.
    pub(crate) fn start(&self) -> Result<Option<&Path>> {
        if self.level.eq_ignore_ascii_case(OFF) {
            reeve_runtime::logging::start_nowhere();
            return Ok(None);
        }
        let mut args = LogArgs::default();
        args.log_level.clone_from(&self.level);
        args.log_encoder = self.encoder;
        let path = self.file.as_path();
        let is_file = path != Path::new("-");
        let started = if is_file {
            let file = File::create(path);
            let what = || {
                format!(
                    "cannot write the logs to {}: choose another --log-file",
                    path.display()
                )
            };
            reeve_runtime::logging::start_in(file.with_context(what)?, &args)
        } else {
            reeve_runtime::logging::start(&args)
        };
        match started {
            Ok(()) => Ok(is_file.then_some(path)),
            Err(_) => usage(format!(
                "--log-level {}: expected off, error, warn, info, debug, or a number from 0",
                self.level
            )),
        }
    }
}
