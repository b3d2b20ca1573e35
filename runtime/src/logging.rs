//! Log lines, on standard error.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

use crate::flags::{LogArgs, LogEncoder};

/// The log level is neither a name nor a number.
#[derive(Debug, thiserror::Error)]
#[error("invalid --log-level {0:?}: expected debug, info, warn, error or a number from 0")]
pub struct InvalidLevel(String);

/// Starts logging for the whole process. Later calls change nothing, so that several components
/// can run in one process.
pub fn start(args: &LogArgs) -> Result<(), InvalidLevel> {
    let filter = filter(&args.log_level, args.verbosity())?;
    let format = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new(filter))
        .with_writer(std::io::stderr)
        // Logging cannot report its own write errors: it would panic.
        .log_internal_errors(false)
        .with_ansi(std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none());
    // The only error is that logging was started before.
    let _ = match args.log_encoder {
        LogEncoder::Console => format.try_init(),
        LogEncoder::Json => format.json().flatten_event(true).try_init(),
    };
    Ok(())
}

/// Like [`start`], into a file that others read while a terminal shows something else.
pub fn start_in(file: std::fs::File, args: &LogArgs) -> Result<(), InvalidLevel> {
    let filter = filter(&args.log_level, args.verbosity())?;
    let format = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new(filter))
        .with_writer(std::sync::Mutex::new(file))
        .log_internal_errors(false)
        .with_ansi(false);
    // The only error is that logging was started before.
    let _ = match args.log_encoder {
        LogEncoder::Console => format.try_init(),
        LogEncoder::Json => format.json().flatten_event(true).try_init(),
    };
    Ok(())
}

/// Logs nothing: components that are started later in this process do not log either.
pub fn start_nowhere() {
    // The only error is that logging was started before.
    let _ = tracing_subscriber::fmt()
        .with_max_level(tracing_subscriber::filter::LevelFilter::OFF)
        .try_init();
}

/// The module prefixes of this workspace's crates.
const OURS: [&str; 16] = [
    "api",
    "runtime",
    "template_reads",
    "addon_controller",
    "propagator",
    "framework_addon",
    "config_policy_controller",
    "apiserver",
    "dryrun",
    "fleet",
    "lint",
    "manifests",
    "report",
    "resolve",
    "suites",
    "cli",
];

/// This workspace's crates at the requested level; the libraries log less, as in Go.
pub(crate) fn filter(level: &str, verbosity: u8) -> Result<String, InvalidLevel> {
    let (ours, libraries) = match level.to_ascii_lowercase().as_str() {
        "debug" => ("debug", libraries(verbosity)),
        "info" => ("info", libraries(verbosity)),
        "warn" | "warning" => ("warn", "warn"),
        "error" | "dpanic" | "panic" | "fatal" => ("error", "error"),
        number => match number.parse::<u8>() {
            Ok(0) => ("info", libraries(verbosity)),
            Ok(1) => ("debug", libraries(verbosity)),
            Ok(_) => ("trace", libraries(verbosity)),
            Err(_) => return Err(InvalidLevel(level.to_owned())),
        },
    };
    let named = if ours == "trace" { "debug" } else { ours };
    let mut directives = vec![libraries.to_owned(), format!("reeve={named}")];
    directives.extend(OURS.map(|name| format!("reeve_{name}={ours}")));
    let quiet = match libraries {
        "error" | "warn" => libraries,
        _ => "info",
    };
    // These crates log what they send, and the URL of a request may hold a secret that a template read.
    let senders = ["kube_client", "tower", "hyper", "hyper_util", "h2"];
    directives.extend(senders.map(|name| format!("{name}={quiet}")));
    // This module logs the whole of a response that it cannot decode: a list of Secrets, perhaps.
    directives.push("kube_client::client=error".to_owned());
    // kube-runtime warns of each rejected watch; the watches log the relevant part themselves.
    directives.push("kube_runtime=error".to_owned());
    Ok(directives.join(","))
}

fn libraries(verbosity: u8) -> &'static str {
    match verbosity {
        0 => "warn",
        1..=4 => "info",
        5..=7 => "debug",
        _ => "trace",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(level: &str) -> Result<String, InvalidLevel> {
        filter(level, 0)
    }

    #[test]
    fn levels_are_names_or_numbers() {
        assert!(of("info").unwrap().contains("reeve_runtime=info"));
        assert!(of("1").unwrap().contains("reeve_runtime=debug"));
        assert!(of("9").unwrap().contains("reeve_runtime=trace"));
        assert!(of("error").unwrap().contains("reeve_runtime=error"));
        let error = of("loud").unwrap_err().to_string();
        assert!(error.contains("\"loud\""), "{error}");
    }

    #[test]
    fn requests_and_responses_are_logged_at_no_level() {
        assert!(of("9").unwrap().contains("kube_client=warn"));
        for level in ["error", "warn", "info", "debug", "9"] {
            let filter = filter(level, 9).unwrap();
            for directive in filter.split(',') {
                let (name, level) = directive.split_once('=').unwrap_or(("", ""));
                let most: &[&str] = match name {
                    "kube_client::client" | "kube_runtime" => &["error"],
                    "kube_client" | "hyper" | "hyper_util" | "h2" | "tower" => {
                        &["error", "warn", "info"]
                    }
                    _ => continue,
                };
                assert!(most.contains(&level), "{filter}");
            }
            assert!(filter.contains("kube_client::client=error"), "{filter}");
        }
    }
}
