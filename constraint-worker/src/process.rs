//! One worker process, from the side of the client.

use std::collections::HashMap;
use std::fmt;
use std::io::{self, Read as _, Write as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Signal;

use crate::protocol::{self, ClientId, Request, Response};
use crate::{COMMAND, WorkerLimits};

/// Processor time is looked at when a result has not come for this long, and again in such steps.
const STEP: Duration = Duration::from_millis(100);
/// Ticks of processor time in a second, as Linux counts them for programs.
const TICKS: u64 = 100;
/// How much is read at once.
const CHUNK: usize = 64 << 10;

/// Why a process gives no more results. Its text is in [`messages`](crate::messages).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum WorkerFailure {
    /// It was killed: it took this much processor time for one result.
    ProcessorTime(Duration),
    /// It was killed: it took this long for one result.
    WallTime(Duration),
    /// It ended by itself.
    Ended(ExitStatus),
    /// What it sent, or its pipe, cannot be read.
    Broken(String),
}

impl WorkerFailure {
    /// Whether this may not be the fault of what was evaluated: a signal that nothing in the process raises, or a machine without time
    /// for it.
    pub(crate) fn is_external(&self) -> bool {
        let fatal = [
            Signal::KILL,
            Signal::TERM,
            Signal::INT,
            Signal::HUP,
            Signal::QUIT,
        ];
        matches!(self, Self::WallTime(_))
            || matches!(self, Self::Ended(status)
            if status.signal().is_some_and(|one| fatal.iter().any(|it| it.as_raw() == one)))
    }
}

/// A process that evaluates. Dropping it kills it.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    input: ChildStdin,
    output: ChildStdout,
    received: Vec<u8>,
    chunk: Vec<u8>,
    /// Up to which change of its journal the process knows a client.
    pub(crate) known: HashMap<ClientId, u64>,
    /// When it had work last.
    pub(crate) used: Instant,
}

impl Process {
    pub(crate) fn start(program: &Path, limits: &WorkerLimits) -> io::Result<Self> {
        let mut child = Command::new(program)
            .arg0("reeve")
            .args([COMMAND, "--memory", &limits.memory.to_string()])
            // Nothing of the environment is for it; the allocators must not reserve more than it may have.
            .env_clear()
            .env("MALLOC_ARENA_MAX", "1")
            .env("MIMALLOC_ARENA_RESERVE", "16384")
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let missing = || io::Error::other("a worker has no pipe");
        Ok(Self {
            input: child.stdin.take().ok_or_else(missing)?,
            output: child.stdout.take().ok_or_else(missing)?,
            child,
            received: Vec::new(),
            chunk: vec![0; CHUNK],
            known: HashMap::new(),
            used: Instant::now(),
        })
    }

    /// Sends a request.
    pub(crate) fn send(&mut self, request: &Request<'_>) -> Result<(), WorkerFailure> {
        let frame =
            protocol::encode(request).map_err(|error| WorkerFailure::Broken(error.to_string()))?;
        let sent = self.input.write_all(&frame);
        sent.map_err(|error| self.ended(&error))
    }

    /// Waits for the next result.
    pub(crate) fn receive(&mut self, limits: &WorkerLimits) -> Result<Response, WorkerFailure> {
        let started = Instant::now();
        let mut spent_before = None;
        loop {
            while let Some(response) = self.next()? {
                match response {
                    Response::Busy => {}
                    response => return Ok(response),
                }
            }
            if self.fill(STEP)? {
                continue;
            }
            let spent = self.processor_time();
            let before = *spent_before.get_or_insert(spent);
            let failure = if spent.saturating_sub(before) + STEP > limits.processor_time {
                WorkerFailure::ProcessorTime(limits.processor_time)
            } else if started.elapsed() > limits.wall_time {
                WorkerFailure::WallTime(limits.wall_time)
            } else {
                continue;
            };
            self.kill();
            return Err(failure);
        }
    }

    /// The next response of what was received.
    fn next(&mut self) -> Result<Option<Response>, WorkerFailure> {
        let broken = |error: &dyn fmt::Display| WorkerFailure::Broken(error.to_string());
        let Some(head) = self.received.first_chunk::<4>() else {
            return Ok(None);
        };
        let length = protocol::length(*head).map_err(|error| broken(&error))?;
        let Some(bytes) = self.received.get(4..4 + length) else {
            return Ok(None);
        };
        let response = protocol::decode(bytes);
        self.received.drain(..4 + length);
        response.map(Some).map_err(|error| broken(&error))
    }

    /// Reads more, if it comes within a time.
    fn fill(&mut self, within: Duration) -> Result<bool, WorkerFailure> {
        let timeout = Timespec {
            tv_sec: 0,
            tv_nsec: within.subsec_nanos().into(),
        };
        let mut polled = [PollFd::new(&self.output, PollFlags::IN)];
        match poll(&mut polled, Some(&timeout)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(false),
            Ok(_) => {}
            Err(error) => return Err(WorkerFailure::Broken(error.to_string())),
        }
        let read = self.output.read(&mut self.chunk);
        match read {
            Ok(0) => Err(self.ended(&io::Error::from(io::ErrorKind::UnexpectedEof))),
            Ok(count) => {
                let chunk = self.chunk.get(..count).unwrap_or_default();
                self.received.extend_from_slice(chunk);
                Ok(true)
            }
            Err(error) => Err(self.ended(&error)),
        }
    }

    /// Why the process has ended, after a pipe of it was closed.
    fn ended(&mut self, error: &io::Error) -> WorkerFailure {
        // A closed pipe and the end of the process are a moment apart.
        let deadline = Instant::now() + STEP;
        while Instant::now() < deadline {
            if let Ok(Some(status)) = self.child.try_wait() {
                return WorkerFailure::Ended(status);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        self.kill();
        WorkerFailure::Broken(error.to_string())
    }

    /// The processor time that the process has taken so far; none if it is gone.
    fn processor_time(&self) -> Duration {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id()));
        let stat = stat.unwrap_or_default();
        // The name before these fields may have spaces.
        let fields = stat.rsplit(") ").next().unwrap_or_default();
        let ticks = fields.split(' ').skip(11).take(2);
        let ticks: u64 = ticks.filter_map(|field| field.parse::<u64>().ok()).sum();
        Duration::from_millis(ticks * 1000 / TICKS)
    }

    fn kill(&mut self) {
        // Both fail only when the process is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}
