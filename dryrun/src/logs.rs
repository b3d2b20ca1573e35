//! The logs of the controller.

use std::fs::{File, OpenOptions};
use std::os::fd::AsFd as _;

use reeve_runtime::flags::LogArgs;
use reeve_runtime::logging;

use crate::args::Args;
use crate::error::Error;
use crate::messages;

/// The level that logs everything.
const LEVEL: &str = "2";

/// Starts logging by the flags.
pub(crate) fn start(args: &Args) -> Result<(), Error> {
    let failed = |why: String| Error::Logging(why);
    if args.log_path.is_some() && args.log == Some(false) {
        return Err(failed(messages::LOG_PATH_WITHOUT_LOG.to_owned()));
    }
    let file = match &args.log_path {
        Some(path) => {
            let opened = OpenOptions::new().append(true).create(true).open(path);
            opened.map_err(|error| failed(messages::unreadable(path, &error)))?
        }
        None if args.log == Some(true) => {
            let stdout = std::io::stdout().as_fd().try_clone_to_owned();
            File::from(stdout.map_err(|error| failed(error.to_string()))?)
        }
        None => {
            logging::start_nowhere();
            return Ok(());
        }
    };
    let mut options = LogArgs::default();
    LEVEL.clone_into(&mut options.log_level);
    logging::start_in(file, &options).map_err(|error| failed(error.to_string()))?;
    let policy = args.policy.as_deref().unwrap_or(std::path::Path::new(""));
    tracing::info!(policyPath = %policy.display(), "{}", messages::LOG_START);
    Ok(())
}
