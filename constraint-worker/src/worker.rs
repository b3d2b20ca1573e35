//! The process that evaluates: it reads requests from standard input and writes results to standard output.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use reeve_gatekeeper::Json;
use reeve_gatekeeper::client::Cause;
use reeve_gatekeeper::constraint::{Constraint, ConstraintKey};
use reeve_gatekeeper::evaluator::{Evaluator as _, Failure, InProcess};
use reeve_gatekeeper::review::Review;
use rustix::process::{Resource, Rlimit, getppid, getrlimit, setrlimit};

use crate::messages;
use crate::protocol::{self, ClientId, Request, Response};

/// An evaluation that takes longer than this is announced.
const BUSY: Duration = Duration::from_millis(20);

/// The stack of the thread that evaluates: as large as that of any parser or interpreter that it runs, which so need no memory of the
/// address space that is left for an evaluation.
const STACK: usize = 256 << 20;

/// Evaluates until standard input ends. `memory` is how many bytes an evaluation may take.
pub fn run(memory: u64) -> ExitCode {
    let thread = thread::Builder::new().stack_size(STACK);
    let served = thread.spawn(move || serve(memory)).map(JoinHandle::join);
    // The process that has started this one reads no error of it: it sees its end.
    match served {
        Ok(Ok(Ok(()))) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

fn serve(memory: u64) -> io::Result<()> {
    let mut input = io::stdin().lock();
    let output = Arc::new(Output::default());
    Arc::clone(&output).report_busy();
    let mut clients = Clients::default();
    while let Some(bytes) = protocol::read(&mut input)? {
        let request = protocol::decode(&bytes)?;
        clients.serve(request, memory, &output)?;
    }
    Ok(())
}

/// What the process holds for one client.
#[derive(Debug)]
struct ClientState {
    evaluator: InProcess,
    constraints: BTreeMap<ConstraintKey, Constraint>,
}

#[derive(Debug, Default)]
struct Clients {
    clients: BTreeMap<ClientId, ClientState>,
    /// The address space is limited, and templates and inventory have not changed since.
    is_limited: bool,
}

impl Clients {
    fn serve(&mut self, request: Request<'_>, memory: u64, output: &Output) -> io::Result<()> {
        match request {
            Request::Begin { client, options } => {
                let state = ClientState {
                    evaluator: InProcess::new(options),
                    constraints: BTreeMap::new(),
                };
                self.clients.insert(client, state);
            }
            Request::End { client } => {
                self.clients.remove(&client);
            }
            Request::Load { client, template } => {
                self.limit(memory)?;
                self.is_limited = false;
                let evaluator = &self.client(client)?.evaluator;
                output.begin();
                output.end(&Response::Loaded(evaluator.load(&template)))?;
                output.flush()?;
            }
            Request::Unload { client, kind } => self.client(client)?.evaluator.unload(&kind),
            Request::SetConstraint { client, object } => {
                let object: Json = protocol::decode(object.get().as_bytes())?;
                let constraint = Constraint::of_validated(object);
                let state = self.client(client)?;
                state.evaluator.set_constraint(&constraint);
                state.constraints.insert(constraint.key(), constraint);
            }
            Request::RemoveConstraint { client, key } => {
                let state = self.client(client)?;
                state.evaluator.remove_constraint(&key);
                state.constraints.remove(&key);
            }
            Request::SetObject { client, object } => {
                let object: Json = protocol::decode(object.get().as_bytes())?;
                self.client(client)?.evaluator.set_object(&object);
                self.is_limited = false;
            }
            Request::RemoveObject { client, key } => {
                self.client(client)?.evaluator.remove_object(&key);
            }
            Request::Evaluate {
                client,
                review,
                constraints,
            } => {
                self.limit(memory)?;
                let state = self.client(client)?;
                let review = Review::of_parts(*review);
                for key in &constraints {
                    output.begin();
                    let evaluated = match state.constraints.get(key) {
                        Some(constraint) => state.evaluator.evaluate_one(&review, constraint),
                        None => Err(Failure {
                            message: messages::unknown_constraint(key),
                            cause: Cause::Overload,
                        }),
                    };
                    output.end(&Response::Evaluated(evaluated))?;
                }
                output.flush()?;
            }
        }
        Ok(())
    }

    fn client(&mut self, client: ClientId) -> io::Result<&mut ClientState> {
        let state = self.clients.get_mut(&client);
        state.ok_or_else(|| io::Error::other("a client has not begun"))
    }

    /// Limits the address space to what the process has now and `memory` more. What evaluations leave behind does not raise it.
    fn limit(&mut self, memory: u64) -> io::Result<()> {
        if std::mem::replace(&mut self.is_limited, true) {
            return Ok(());
        }
        let maximum = getrlimit(Resource::As).maximum;
        let current = address_space()?.saturating_add(memory);
        let current = maximum.map_or(current, |maximum| current.min(maximum));
        let limit = Rlimit {
            current: Some(current),
            maximum,
        };
        Ok(setrlimit(Resource::As, limit)?)
    }
}

/// The bytes of the address space of this process.
fn address_space() -> io::Result<u64> {
    let pages = fs::read_to_string("/proc/self/statm")?;
    let pages = pages.split_whitespace().next().unwrap_or_default();
    let pages: u64 = pages.parse().map_err(io::Error::other)?;
    Ok(pages.saturating_mul(u64::try_from(rustix::param::page_size()).unwrap_or(4096)))
}

/// Standard output. Results are collected, and sent before an evaluation that takes long.
#[derive(Debug, Default)]
struct Output {
    pending: Mutex<Pending>,
    begun: Condvar,
}

#[derive(Debug, Default)]
struct Pending {
    bytes: Vec<u8>,
    /// The number of the evaluation that runs, counted from 1.
    running: Option<u64>,
    count: u64,
}

impl Output {
    fn lock(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(&self) {
        let mut pending = self.lock();
        pending.count += 1;
        pending.running = Some(pending.count);
        self.begun.notify_one();
    }

    fn end(&self, response: &Response) -> io::Result<()> {
        let frame = protocol::encode(response)?;
        let mut pending = self.lock();
        pending.running = None;
        pending.bytes.extend_from_slice(&frame);
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        self.lock().send()
    }

    /// Announces evaluations that take long, from a thread of its own: then it is known which one the process is busy with. Ends the
    /// process when its parent has ended.
    fn report_busy(self: Arc<Self>) {
        let (begun, begins) = mpsc::channel();
        thread::spawn(move || {
            let (mut announced, parent) = (0, getppid());
            let _ = begun.send(());
            loop {
                let pending = self.lock();
                let is_idle = |pending: &mut Pending| pending.running.is_none();
                let pending = self.begun.wait_while(pending, is_idle);
                let seen = pending.unwrap_or_else(PoisonError::into_inner).running;
                thread::sleep(BUSY);
                if getppid() != parent {
                    // No process would kill an evaluation that does not end. PR_SET_PDEATHSIG is no alternative: the kernel sends
                    // the signal when the thread ends that has started this process.
                    std::process::exit(1);
                }
                let mut pending = self.lock();
                let is_same = seen.is_some() && pending.running == seen;
                if !is_same || seen == Some(announced) {
                    continue;
                }
                announced = pending.count;
                let sent = protocol::write(&mut pending.bytes, &Response::Busy);
                if sent.and_then(|()| pending.send()).is_err() {
                    return;
                }
            }
        });
        // What the thread takes of the address space is taken before that is limited.
        let _ = begins.recv();
    }
}

impl Pending {
    fn send(&mut self) -> io::Result<()> {
        let mut out = io::stdout().lock();
        out.write_all(&self.bytes)?;
        self.bytes.clear();
        out.flush()
    }
}
