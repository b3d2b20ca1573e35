//! Keeps the JSON of stored objects compressed. Objects of one resource have most of their text in common: field names, managed fields,
//! whole specs. So each table has a dictionary of such text, which all servers of the process share: the clusters of a
//! fleet have the same objects but for names, uids and times.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Weak};

use bytes::Bytes;
use lz4_flex::block::{compress_with_dict, decompress_with_dict};
use parking_lot::{Mutex, RwLock};

/// The maximum size of a dictionary. LZ4 refers back 64 KiB at most, and each compression reads the whole dictionary.
const MAX_DICTIONARY_BYTES: usize = 32 << 10;
/// Shorter texts are not compressed: their fields beside it have more bytes.
const MIN_BYTES: usize = 128;
/// A text joins the dictionary if more than this part of it is new. A status repeats itself so much that half of it is not, however
/// little the dictionary has of it.
const NEW_PART: usize = 4;
/// Their objects are not put into dictionaries: what a dictionary has outlives the object.
const SECRETS: &str = "/secrets";

/// The dictionaries of the tables that have compressed objects in some server of this process. With the last of these a dictionary is
/// dropped: tables of kinds that are gone take no memory.
static DICTIONARIES: LazyLock<Mutex<HashMap<Box<str>, Weak<Dictionary>>>> =
    LazyLock::new(Mutex::default);

/// Text of the objects of a table. It only grows, so that a text is decompressed with as much of it as it was compressed with.
#[derive(Debug, Default)]
pub(crate) struct Dictionary(RwLock<Vec<u8>>);

/// A JSON text.
#[derive(Clone, Debug)]
pub(crate) enum Compact {
    /// As it is.
    Plain(Bytes),
    /// Compressed.
    Compressed {
        /// The dictionary.
        dictionary: Arc<Dictionary>,
        /// How much of the dictionary was used.
        prefix: u32,
        /// The length of the text.
        length: u32,
        /// The LZ4 block.
        block: Box<[u8]>,
    },
}

impl Compact {
    /// Compresses the text of an object of a table, if that makes it smaller.
    pub(crate) fn new(table: &str, text: Bytes) -> Self {
        let (MIN_BYTES.., Ok(length)) = (text.len(), u32::try_from(text.len())) else {
            return Self::Plain(text);
        };
        let dictionary = dictionary(table);
        let (block, used) = {
            let known = dictionary.0.read();
            (compress_with_dict(&text, &known), known.len())
        };
        if block.len() > text.len() / NEW_PART && table != SECRETS {
            dictionary.learn(&text);
        }
        match u32::try_from(used) {
            Ok(prefix) if block.len() < text.len() => Self::Compressed {
                dictionary,
                prefix,
                length,
                block: block.into_boxed_slice(),
            },
            _ => Self::Plain(text),
        }
    }

    /// The text.
    pub(crate) fn text(&self) -> Bytes {
        match self {
            Self::Plain(text) => text.clone(),
            Self::Compressed {
                dictionary,
                prefix,
                length,
                block,
            } => {
                let known = dictionary.0.read();
                let known = known.get(..*prefix as usize).unwrap_or_default();
                let text = decompress_with_dict(block, *length as usize, known);
                // It fails only by a defect: this process has compressed the text with the same dictionary.
                Bytes::from(text.unwrap_or_else(|error| {
                    tracing::error!(%error, "cannot decompress a stored object");
                    Vec::new()
                }))
            }
        }
    }

    /// The length of the text.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Plain(text) => text.len(),
            Self::Compressed { length, .. } => *length as usize,
        }
    }
}

impl Dictionary {
    /// Appends a text that has little in common with the dictionary, if it fits.
    fn learn(&self, text: &[u8]) {
        let mut known = self.0.write();
        if known.len() + text.len() <= MAX_DICTIONARY_BYTES {
            known.reserve_exact(text.len());
            known.extend_from_slice(text);
        }
    }
}

fn dictionary(table: &str) -> Arc<Dictionary> {
    let mut all = DICTIONARIES.lock();
    if let Some(known) = all.get(table).and_then(Weak::upgrade) {
        return known;
    }
    all.retain(|_, one| one.strong_count() > 0);
    let made = Arc::new(Dictionary::default());
    all.insert(table.into(), Arc::downgrade(&made));
    made
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn object(number: usize) -> Bytes {
        let text = format!(
            r#"{{"metadata":{{"name":"n{number}","labels":{{"app.kubernetes.io/part-of":"some-system"}}}},"spec":{{"replicas":{number},"template":{{"spec":{{"containers":[{{"name":"one"}}]}}}}}}}}"#
        );
        Bytes::from(text)
    }

    fn block_bytes(compact: &Compact) -> usize {
        match compact {
            Compact::Plain(text) => text.len(),
            Compact::Compressed { block, .. } => block.len(),
        }
    }

    #[test]
    fn second_object_of_table_takes_a_fraction_of_its_text() {
        let table = "example.com/fractions";
        let first = Compact::new(table, object(1));
        let second = Compact::new(table, object(2));
        assert!(block_bytes(&second) * 4 < second.len(), "{second:?}");
        assert_eq!((first.text(), second.text()), (object(1), object(2)));
        let elsewhere = Compact::new("example.com/others", object(3));
        assert!(block_bytes(&elsewhere) > block_bytes(&second));
    }

    #[test]
    fn text_that_repeats_itself_joins_the_dictionary() {
        let status = |number: usize| {
            let entry = format!(
                r#"{{"message":"Compliant; notification - configmaps [c{number}] found as specified in namespace default"}}"#
            );
            Bytes::from(format!(r#"{{"history":[{}]}}"#, [&*entry; 4].join(",")))
        };
        let table = "example.com/statuses";
        let first = Compact::new(table, status(1));
        assert!(block_bytes(&first) * 2 < first.len(), "{first:?}");
        let second = Compact::new(table, status(2));
        assert!(block_bytes(&second) * 2 < block_bytes(&first), "{second:?}");
    }

    #[test]
    fn text_is_read_after_dictionary_has_grown_to_its_limit() {
        let table = "example.com/growing";
        // Words that occur once only, so that every text is new to the dictionary.
        let words = |from: usize| (from..from + 500).map(|word| format!("{:x} ", word * 7_919_317));
        let texts: Vec<Bytes> = (0..40)
            .map(|from| Bytes::from(words(from * 500).collect::<String>()))
            .collect();
        let kept: Vec<Compact> = texts
            .iter()
            .map(|text| Compact::new(table, text.clone()))
            .collect();
        let size = dictionary(table).0.read().len();
        assert!((1..=MAX_DICTIONARY_BYTES).contains(&size), "{size}");
        for (kept, text) in kept.iter().zip(texts) {
            assert_eq!(kept.text(), text);
        }
    }

    #[test]
    fn secrets_are_in_no_dictionary() {
        let first = Compact::new(SECRETS, object(1));
        let second = Compact::new(SECRETS, object(2));
        assert!(dictionary(SECRETS).0.read().is_empty());
        assert_eq!((first.text(), second.text()), (object(1), object(2)));
    }

    #[test]
    fn dictionary_is_dropped_with_the_last_object() {
        let table = "example.com/dropped";
        let kept = Compact::new(table, object(1));
        let known = Arc::downgrade(&dictionary(table));
        assert!(known.upgrade().is_some());
        drop(kept);
        // Its object was compressible by itself or kept plain; either way nothing refers to the dictionary now.
        assert!(known.upgrade().is_none());
    }

    proptest! {
        #[test]
        fn every_text_is_read_as_it_was_written(texts in prop::collection::vec(".{0,400}", 1..20)) {
            for text in texts {
                let text = Bytes::from(text);
                let kept = Compact::new("example.com/any", text.clone());
                prop_assert_eq!(kept.len(), text.len());
                prop_assert_eq!(kept.text(), text);
            }
        }
    }
}
