//! The form of snapshots and logs: records, each with its length and a checksum.
//!
//! A record begins with three numbers of four bytes, lowest byte first: the length of its body, the CRC-32 of the body,
//! and the CRC-32 of these eight bytes, so that a damaged length is not taken for the end of the file. A file's first body
//! is its [`Title`]. All others are a line of JSON, `[table, namespace, name, revision]`, then the object as it is kept, or
//! nothing if it has been deleted.

use std::fs::File;
use std::io::{self, BufReader, Read as _, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::DataError;
use super::files::open;

/// The only form so far.
const FORM: u32 = 1;
/// The length of a record header in bytes.
pub(super) const HEAD: usize = 12;

/// The content of the first record of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Title {
    form: u32,
    /// The revision that a snapshot is of, or that a log begins after.
    pub(super) revision: u64,
    /// The number of objects in a snapshot.
    pub(super) objects: u64,
}

impl Title {
    pub(super) fn new(revision: u64, objects: usize) -> Self {
        Self {
            form: FORM,
            revision,
            objects: objects as u64,
        }
    }

    /// The record of it.
    pub(super) fn framed(self) -> io::Result<Vec<u8>> {
        let mut record = Vec::new();
        frame(&mut record, |body| Ok(serde_json::to_writer(body, &self)?))?;
        Ok(record)
    }
}

/// A change, or an object in a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry<'a> {
    pub(crate) table: &'a str,
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
    pub(crate) revision: u64,
    /// The object; empty if it is deleted.
    pub(crate) object: &'a [u8],
}

impl Entry<'_> {
    /// Appends the record of it.
    pub(super) fn frame(&self, record: &mut Vec<u8>) -> io::Result<()> {
        frame(record, |body| {
            let key = (self.table, self.namespace, self.name, self.revision);
            serde_json::to_writer(&mut *body, &key)?;
            body.push(b'\n');
            body.extend_from_slice(self.object);
            Ok(())
        })
    }

    /// Reads a body, and gives it to `with`. Answers nothing if it is none.
    pub(super) fn read<T>(body: &[u8], with: impl FnOnce(&Entry<'_>) -> T) -> Option<T> {
        let end = body.iter().position(|byte| *byte == b'\n')?;
        let (line, rest) = body.split_at_checked(end)?;
        let (table, namespace, name, revision): (String, String, String, u64) =
            serde_json::from_slice(line).ok()?;
        Some(with(&Entry {
            table: &table,
            namespace: &namespace,
            name: &name,
            revision,
            object: rest.get(1..)?,
        }))
    }
}

/// Appends a record with a body that `fill` appends.
fn frame(
    record: &mut Vec<u8>,
    fill: impl FnOnce(&mut Vec<u8>) -> io::Result<()>,
) -> io::Result<()> {
    let mut body = Vec::new();
    fill(&mut body)?;
    let length = u32::try_from(body.len()).map_err(io::Error::other)?;
    let mut head = length.to_le_bytes().to_vec();
    head.extend_from_slice(&crc32fast::hash(&body).to_le_bytes());
    let check = crc32fast::hash(&head);
    record.write_all(&head)?;
    record.write_all(&check.to_le_bytes())?;
    record.write_all(&body)
}

/// The next record of a file.
pub(super) enum Next {
    /// A record, with the place where it begins.
    Body(u64, Vec<u8>),
    /// Nothing: it ends here.
    End,
    /// The beginning of a record that was not written to its end.
    Torn(u64),
}

/// A file that is read record by record.
pub(super) struct Transport {
    path: PathBuf,
    file: BufReader<File>,
    length: u64,
    place: u64,
}

impl Transport {
    pub(super) fn open(path: &Path) -> Result<Self, DataError> {
        let file = open(path).map_err(DataError::read(path))?;
        let length = file.metadata().map_err(DataError::read(path))?.len();
        Ok(Self {
            path: path.to_owned(),
            file: BufReader::new(file),
            length,
            place: 0,
        })
    }

    /// The title, if it was written to its end.
    pub(super) fn title(&mut self) -> Result<Option<Title>, DataError> {
        let Next::Body(place, body) = self.next()? else {
            return Ok(None);
        };
        match serde_json::from_slice::<Title>(&body) {
            Ok(title) if title.form == FORM => Ok(Some(title)),
            Ok(title) => Err(self.damaged(place, format!("its form is {}", title.form))),
            Err(error) => Err(self.damaged(place, format!("its title: {error}"))),
        }
    }

    pub(super) fn next(&mut self) -> Result<Next, DataError> {
        let place = self.place;
        let left = self.length - place;
        if left == 0 {
            return Ok(Next::End);
        }
        if left < HEAD as u64 {
            return Ok(Next::Torn(place));
        }
        let mut head = [0_u8; HEAD];
        self.fill(&mut head)?;
        let number = |at: usize| {
            let bytes = head.get(at..at + 4).and_then(|part| part.try_into().ok());
            u32::from_le_bytes(bytes.unwrap_or_default())
        };
        let (length, check, of_head) = (number(0), number(4), number(8));
        if crc32fast::hash(head.get(..8).unwrap_or_default()) != of_head {
            // A file that was longer than what the disk had of it when the machine died ends in zeros.
            if head == [0; HEAD] && self.rest_is_zero()? {
                return Ok(Next::Torn(place));
            }
            return Err(self.damaged(place, "a length with a wrong checksum".to_owned()));
        }
        if self.length - self.place < u64::from(length) {
            return Ok(Next::Torn(place));
        }
        let mut body = vec![0; length as usize];
        self.fill(&mut body)?;
        if crc32fast::hash(&body) == check {
            return Ok(Next::Body(place, body));
        }
        if self.place == self.length {
            return Ok(Next::Torn(place));
        }
        Err(self.damaged(place, "a record with a wrong checksum".to_owned()))
    }

    /// What cannot be what was written.
    pub(super) fn damaged(&self, offset: u64, why: String) -> DataError {
        DataError::Damaged {
            path: self.path.clone(),
            offset,
            why,
        }
    }

    /// The offset in the file.
    pub(super) fn place(&self) -> u64 {
        self.place
    }

    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), DataError> {
        let read = self.file.read_exact(bytes);
        read.map_err(DataError::read(&self.path))?;
        self.place += bytes.len() as u64;
        Ok(())
    }

    fn rest_is_zero(&mut self) -> Result<bool, DataError> {
        for byte in self.file.by_ref().bytes() {
            if byte.map_err(DataError::read(&self.path))? != 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
