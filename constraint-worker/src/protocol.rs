//! What a client and a worker process send each other: JSON documents, each after its length.

use std::io::{self, Read, Write};

use reeve_gatekeeper::Json;
use reeve_gatekeeper::client::Options;
use reeve_gatekeeper::constraint::ConstraintKey;
use reeve_gatekeeper::evaluator::{Compiled, Evaluated};
use reeve_gatekeeper::inventory::InventoryKey;
use reeve_gatekeeper::review::ReviewParts;
use reeve_gatekeeper::template::{ConstraintTemplate, TemplateError};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// The longest document, in bytes.
const LONGEST: usize = 1 << 30;
/// Documents are decoded on a stack of this size: objects are as deep as the engine takes them.
const STACK: usize = 8 << 20;
/// What decoding takes of the stack at most: for a document without anything in it, and for each level of it.
const STACK_OF_DOCUMENT: usize = 64 << 10;
const STACK_OF_LEVEL: usize = 4 << 10;

/// Which client a request is about.
pub(crate) type ClientId = u64;

/// A request to a worker.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Request<'a> {
    /// A client begins, or begins again without anything.
    Begin { client: ClientId, options: Options },
    /// A client has ended.
    End { client: ClientId },
    /// Compile a template. The response is [`Response::Loaded`].
    Load {
        client: ClientId,
        template: Box<ConstraintTemplate>,
    },
    /// Forget the template of a kind.
    Unload { client: ClientId, kind: String },
    /// Add a constraint that has been validated.
    SetConstraint {
        client: ClientId,
        #[serde(borrow)]
        object: &'a RawValue,
    },
    /// Forget a constraint.
    RemoveConstraint {
        client: ClientId,
        key: ConstraintKey,
    },
    /// Add an object to the inventory.
    SetObject {
        client: ClientId,
        #[serde(borrow)]
        object: &'a RawValue,
    },
    /// Remove an object from the inventory.
    RemoveObject { client: ClientId, key: InventoryKey },
    /// Evaluate constraints. The responses are a [`Response::Evaluated`] for each, in their order.
    Evaluate {
        client: ClientId,
        review: Box<ReviewParts<'a>>,
        constraints: Vec<ConstraintKey>,
    },
}

/// A response of a worker.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Response {
    /// Of [`Request::Load`].
    Loaded(Result<Compiled, TemplateError>),
    /// Of the next constraint of [`Request::Evaluate`].
    Evaluated(Evaluated),
    /// The next constraint takes a while: everything before it has been sent.
    Busy,
}

/// A document with its length, as it is sent.
pub(crate) fn encode(document: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut frame = vec![0; 4];
    serde_json::to_writer(&mut frame, document)?;
    let length = u32::try_from(frame.len() - 4).map_err(io::Error::other)?;
    if let Some(head) = frame.first_chunk_mut::<4>() {
        *head = length.to_le_bytes();
    }
    Ok(frame)
}

/// Sends a document.
pub(crate) fn write(to: &mut impl Write, document: &impl Serialize) -> io::Result<()> {
    to.write_all(&encode(document)?)
}

/// The bytes of the next document; nothing at the end.
pub(crate) fn read(from: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut head = [0; 4];
    match from.read_exact(&mut head) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        read => read?,
    }
    let mut bytes = vec![0; length(head)?];
    from.read_exact(&mut bytes)?;
    Ok(Some(bytes))
}

/// The length of a document by what is sent before it.
pub(crate) fn length(head: [u8; 4]) -> io::Result<usize> {
    let length = usize::try_from(u32::from_le_bytes(head)).map_err(io::Error::other)?;
    if length > LONGEST {
        return Err(io::Error::other("a document is too long"));
    }
    Ok(length)
}

/// Decodes a document that this program has encoded. The engine bounds the depth of objects and violations.
pub(crate) fn decode<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> serde_json::Result<T> {
    // Most results are short, and so no deeper than the stack that there is: another stack is mapped and unmapped each time.
    let levels = bytes.len() / 2;
    let needed = STACK_OF_DOCUMENT.saturating_add(levels.saturating_mul(STACK_OF_LEVEL));
    stacker::maybe_grow(needed.min(STACK), STACK, || {
        let mut decoder = serde_json::Deserializer::from_slice(bytes);
        decoder.disable_recursion_limit();
        T::deserialize(&mut decoder)
    })
}

/// The document of a value, to be sent several times.
pub(crate) fn raw(value: &Json) -> serde_json::Result<Box<RawValue>> {
    stacker::maybe_grow(STACK, STACK, || serde_json::value::to_raw_value(value))
}
