//! Standard output, whose reader may close it at any time: `reeve up | head`.

use std::fmt::Arguments;
use std::io::{ErrorKind, Write as _, stdout};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use reeve_report::{FailOn, Output, Report};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::terminal;
use crate::usage::{EXIT_FAILURE, EXIT_FINDINGS};

static CLOSED: AtomicBool = AtomicBool::new(false);
/// Whether a write failed although the output has a reader.
static FAILED: AtomicBool = AtomicBool::new(false);

/// Prints a line, unless the output is closed.
pub(crate) fn line(text: Arguments<'_>) {
    block(format_args!("{text}\n"));
}

/// Prints a text unchanged, unless the output is closed.
pub(crate) fn block(text: Arguments<'_>) {
    let mut out = stdout().lock();
    if let Err(error) = out.write_fmt(text).and_then(|()| out.flush()) {
        CLOSED.store(true, Ordering::Relaxed);
        if error.kind() != ErrorKind::BrokenPipe && !FAILED.swap(true, Ordering::Relaxed) {
            let why = reeve_manifests::os_words(&error);
            aside(format_args!("error: cannot write the output: {why}"));
        }
    }
}

/// The exit code of a command whose output could not be written, otherwise its own.
pub(crate) fn checked(code: ExitCode) -> ExitCode {
    if FAILED.load(Ordering::Relaxed) {
        ExitCode::from(EXIT_FAILURE)
    } else {
        code
    }
}

/// Prints a line to standard error, for people: standard output may belong to a program. It may be closed.
pub(crate) fn aside(text: Arguments<'_>) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Prints what a command returned, and makes its exit code.
pub(crate) fn finish(out: &str, errors: &str, code: u8) -> ExitCode {
    block(format_args!("{out}"));
    // The reader of errors may be gone.
    let _ = std::io::stderr().write_all(errors.as_bytes());
    checked(ExitCode::from(code))
}

/// Prints a report. Whether it has findings that `fail_on` names.
pub(crate) fn report(report: &Report, form: Output, fail_on: FailOn) -> bool {
    let text = reeve_report::print(report, form, terminal::style());
    block(format_args!("{text}"));
    fail_on.is_failure(report)
}

/// The exit code of a command that judges.
pub(crate) fn verdict(has_findings: bool) -> ExitCode {
    if has_findings {
        ExitCode::from(EXIT_FINDINGS)
    } else {
        ExitCode::SUCCESS
    }
}

/// Whether the reader has closed the output.
pub(crate) fn is_closed() -> bool {
    CLOSED.load(Ordering::Relaxed) || has_no_reader()
}

/// Whether the output is a pipe whose other end is closed.
fn has_no_reader() -> bool {
    let out = stdout();
    let mut polled = [PollFd::new(&out, PollFlags::empty())];
    // If poll fails, writes continue until one fails.
    let asked = poll(&mut polled, Some(&Timespec::default()));
    asked.is_ok() && polled[0].revents().contains(PollFlags::ERR)
}
