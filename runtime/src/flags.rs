//! Flags that every component has, and reading values as Go's flag library does.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, ValueEnum};
use reeve_go_compat::strconv::parse_bool;
use std::net::SocketAddr;

/// Reads a boolean flag value as Go does: `--flag`, `--flag=true`, `--flag=F`.
pub fn go_bool(text: &str) -> Result<bool, String> {
    parse_bool(text)
        .ok_or_else(|| format!("invalid boolean value {text:?}: expected true or false"))
}

/// What is wrong with the arguments of a program, in one line: in the words of Go's flag library where it has some.
pub fn wrong_flag(error: &clap::Error) -> String {
    let unknown = error.get(ContextKind::InvalidArg);
    if let (ErrorKind::UnknownArgument, Some(ContextValue::String(flag))) = (error.kind(), unknown)
        && flag.starts_with('-')
    {
        return format!("unknown flag: {flag}");
    }
    let text = error.render().to_string();
    let first = text.lines().next().unwrap_or_default();
    first.strip_prefix("error: ").unwrap_or(first).to_owned()
}

/// Reads a listen address as Go does: `:8080` is every interface, `localhost:8383` is loopback,
/// `0` is "do not listen".
pub fn listen_address(text: &str) -> Result<ListenAddress, String> {
    if text == "0" || text.is_empty() {
        return Ok(ListenAddress(None));
    }
    let invalid = |why: &str| format!("invalid listen address {text:?}: {why}");
    let (host, port) = text
        .rsplit_once(':')
        .ok_or_else(|| invalid("expected host:port"))?;
    let port: u16 = port
        .parse()
        .map_err(|_| invalid("the port is not a number up to 65535"))?;
    let host = match host {
        "" => "0.0.0.0",
        "localhost" => "127.0.0.1",
        other => other.trim_start_matches('[').trim_end_matches(']'),
    };
    let host = host
        .parse()
        .map_err(|_| invalid("the host is not an IP address or localhost"))?;
    Ok(ListenAddress(Some(SocketAddr::new(host, port))))
}

/// Where to listen, if at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListenAddress(pub Option<SocketAddr>);

/// How log lines are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum LogEncoder {
    /// For people.
    #[default]
    Console,
    /// One JSON object a line.
    Json,
}

/// The logging flags of every component.
#[derive(Args, Clone, Debug, Default)]
pub struct LogArgs {
    /// Logging level: a name (debug, info, warn, error) or a number, where larger is more verbose.
    #[arg(long, default_value = "info", value_name = "LEVEL")]
    pub log_level: String,
    /// Logging format.
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub log_encoder: LogEncoder,
    #[command(flatten)]
    klog: KlogArgs,
}

/// klog's flags. Manifests pass them; Reeve logs to standard error at `--log-level`, or at `-v`
/// when that is more.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Accepted for compatibility")]
struct KlogArgs {
    /// Number for the log level verbosity.
    #[arg(
        short = 'v',
        long = "v",
        value_name = "N",
        default_value_t = 0,
        allow_negative_numbers = true
    )]
    verbosity: i16,
    #[arg(long, hide = true)]
    vmodule: Option<String>,
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, value_parser = go_bool, default_missing_value = "true")]
    logtostderr: Option<bool>,
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, value_parser = go_bool, default_missing_value = "true")]
    alsologtostderr: Option<bool>,
    #[arg(long, hide = true)]
    stderrthreshold: Option<String>,
    #[arg(long = "log_dir", alias = "log-dir", hide = true)]
    log_dir: Option<String>,
    #[arg(long = "log_file", alias = "log-file", hide = true)]
    log_file: Option<String>,
    #[arg(long = "log_file_max_size", alias = "log-file-max-size", hide = true)]
    log_file_max_size: Option<u64>,
    #[arg(long = "log_backtrace_at", alias = "log-backtrace-at", hide = true)]
    log_backtrace_at: Option<String>,
    #[arg(long = "skip_headers", alias = "skip-headers", hide = true, num_args = 0..=1, require_equals = true, value_parser = go_bool, default_missing_value = "true")]
    skip_headers: Option<bool>,
    #[arg(long = "skip_log_headers", alias = "skip-log-headers", hide = true, num_args = 0..=1, require_equals = true, value_parser = go_bool, default_missing_value = "true")]
    skip_log_headers: Option<bool>,
    #[arg(long = "add_dir_header", alias = "add-dir-header", hide = true, num_args = 0..=1, require_equals = true, value_parser = go_bool, default_missing_value = "true")]
    add_dir_header: Option<bool>,
    #[arg(long = "one_output", alias = "one-output", hide = true, num_args = 0..=1, require_equals = true, value_parser = go_bool, default_missing_value = "true")]
    one_output: Option<bool>,
}

impl LogArgs {
    /// The verbosity number of `-v`. Below nothing there is nothing more to leave out.
    pub fn verbosity(&self) -> u8 {
        u8::try_from(self.klog.verbosity.clamp(0, 255)).unwrap_or(u8::MAX)
    }
}

/// TLS settings of the servers in this process.
#[derive(Args, Clone, Debug, Default)]
pub struct TlsArgs {
    /// Minimum TLS version of the servers in this process: `VersionTLS12` or `VersionTLS13`.
    #[arg(long, default_value = "", value_name = "VERSION")]
    pub tls_min_version: String,
    /// Comma-separated IANA names of the cipher suites to offer. Ignored with TLS 1.3 as minimum.
    #[arg(long, default_value = "", value_name = "NAMES")]
    pub tls_cipher_suites: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Program {
        #[command(flatten)]
        log: LogArgs,
    }

    #[test]
    fn klog_flags_are_accepted_in_every_spelling_that_manifests_use() {
        let program = Program::try_parse_from([
            "p",
            "-v",
            "2",
            "--logtostderr",
            "--alsologtostderr=false",
            "--log_dir",
            "/tmp",
            "--log-level=debug",
            "--log-encoder=json",
            "--skip_headers=T",
        ]);
        let log = program.unwrap().log;
        assert_eq!((log.verbosity(), log.log_level.as_str()), (2, "debug"));
        assert_eq!(log.log_encoder, LogEncoder::Json);
        assert!(Program::try_parse_from(["p", "--v=3"]).is_ok());
        let quiet = Program::try_parse_from(["p", "--v=-2", "--log-dir=/tmp"]);
        assert_eq!(quiet.unwrap().log.verbosity(), 0);
        assert!(Program::try_parse_from(["p", "--unknown"]).is_err());
    }

    #[test]
    fn listen_addresses() {
        let address = |text| listen_address(text).map(|at| at.0.map(|at| at.to_string()));
        assert_eq!(address(":8383"), Ok(Some("0.0.0.0:8383".to_owned())));
        assert_eq!(
            address("localhost:8383"),
            Ok(Some("127.0.0.1:8383".to_owned()))
        );
        assert_eq!(address("[::1]:1"), Ok(Some("[::1]:1".to_owned())));
        assert_eq!(address("0"), Ok(None));
        assert!(address("8383").is_err());
        assert!(address("nowhere:1").is_err());
    }
}
