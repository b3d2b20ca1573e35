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
        .with_ansi(std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none());
    // An error only says that logging has been started already.
    let _ = match args.log_encoder {
        LogEncoder::Console => format.try_init(),
        LogEncoder::Json => format.json().flatten_event(true).try_init(),
    };
    Ok(())
}

/// Our own crates at the level asked for; the libraries say less, as they do in Go.
fn filter(level: &str, verbosity: u8) -> Result<String, InvalidLevel> {
    let named = match level.to_ascii_lowercase().as_str() {
        "debug" => 1,
        "info" => 0,
        "warn" | "warning" => return Ok("warn".to_owned()),
        "error" | "dpanic" | "panic" | "fatal" => return Ok("error".to_owned()),
        number => number
            .parse::<u8>()
            .map_err(|_| InvalidLevel(level.to_owned()))?,
    };
    let ours = match named {
        0 => "info",
        1 => "debug",
        _ => "trace",
    };
    let libraries = match verbosity {
        0 => "warn",
        1..=4 => "info",
        5..=7 => "debug",
        _ => "trace",
    };
    let quiet = if libraries == "warn" { "warn" } else { "info" };
    // These log what they send, and in the address of a request may be a secret that a template looked up.
    let mute = ["kube_client", "tower", "hyper", "hyper_util", "h2"];
    let mut mute: Vec<String> = mute.iter().map(|name| format!("{name}={quiet}")).collect();
    // It warns of each refused watch in the API server's words; what matters of that we say ourselves.
    mute.push("kube_runtime=error".to_owned());
    let crates = [
        "api",
        "runtime",
        "template_reads",
        "addon_controller",
        "propagator",
        "framework_addon",
        "config_policy_controller",
        "apiserver",
        "fleet",
        "cli",
    ];
    let ours: Vec<String> = crates
        .iter()
        .map(|name| format!("reeve_{name}={ours}"))
        .collect();
    Ok(format!(
        "{libraries},{},reeve={named_level},{}",
        mute.join(","),
        ours.join(","),
        named_level = if named == 0 { "info" } else { "debug" }
    ))
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
        assert_eq!(of("error").unwrap(), "error");
        let error = of("loud").unwrap_err().to_string();
        assert!(error.contains("\"loud\""), "{error}");
    }

    #[test]
    fn what_is_sent_is_logged_at_no_level() {
        assert!(of("9").unwrap().contains("kube_client=warn"));
        let filter = filter("9", 9).unwrap();
        for quiet in ["kube_client=info", "hyper=info", "kube_runtime=error"] {
            assert!(filter.contains(quiet), "{filter}");
        }
    }
}
