//! From a document with templates to the document that they make.
//!
//! The template is **one whole document**, executed once: JSON becomes YAML, the YAML text is
//! rewritten and executed as a template, and its output is read as YAML again.

mod context;
mod error;
mod parse;
mod prefetch;
mod sensitive;
mod skip;

use std::fmt;
use std::rc::Rc;

pub use context::{Context, ContextError};
pub use error::{Failed, ResolveError};
pub use sensitive::DerivedField;
pub use skip::SkipObject;

use crate::budget::{Budget, Meter};
use crate::encryption::{DecryptedTokens, Encryption};
use crate::function::{Ambient, CustomFunction, Env};
use crate::language::{Delimiters, FunctionTable, Template, execute};
use crate::lookup::{Cluster, Needed, Object, Read, Reads, Restrictions};
use crate::rewrite::{APOSTROPHE, Rewrites};
use reeve_go_compat::json::{self, Escape};
use reeve_go_compat::value::Value;
use reeve_go_compat::yaml::{self, QuotedAction};

/// The name of every document's template in errors.
const NAME: &str = "tmpl";

/// How a resolver works, fixed when it is made.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// Spaces added to every `indent`, because the result lands that much deeper. The hub's
    /// propagator uses 8.
    pub additional_indentation: u32,
    /// Functions that do not exist for templates.
    pub disabled_functions: Vec<String>,
    /// What starts an action; empty, together with the stop, for `{{` and `}}`.
    pub start_delimiter: String,
    /// What stops an action.
    pub stop_delimiter: String,
}

/// How the caller answers reads, as far as that changes results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Once, by plain reads.
    #[default]
    Plain,
    /// Again and again, by watches: kinds that cannot be watched are refused, and without a
    /// context `.` is nothing at all instead of an empty struct.
    Watch,
}

/// A document with templates.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a> {
    /// A JSON document, which is rendered as YAML.
    Json(&'a [u8]),
    /// YAML text as it is.
    Yaml(&'a str),
}

impl Input<'_> {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Json(bytes) => bytes,
            Self::Yaml(text) => text.as_bytes(),
        }
    }
}

/// Which encryption a document may use.
#[derive(Clone, Default)]
pub struct EncryptionConfig<'a> {
    /// The AES key: 16, 24 or 32 bytes.
    pub key: &'a [u8],
    /// The key before the last rotation; empty counts as none.
    pub fallback_key: Option<&'a [u8]>,
    /// 16 bytes.
    pub initialization_vector: &'a [u8],
    /// Whether values are encrypted: `protect`, and what is read from secrets.
    pub encrypts: bool,
    /// Whether encrypted values in the document are decrypted.
    pub decrypts: bool,
}

/// What one document is resolved with.
#[derive(Clone, Default)]
pub struct Options<'a> {
    /// What `.` is.
    pub context: Context,
    /// How the caller answers reads.
    pub mode: Mode,
    /// What may be read.
    pub restrictions: Restrictions,
    /// Objects that are searched before the cluster, made with [`Object::with_all_fields`].
    pub local: Vec<Object>,
    /// Functions of this call, in place of others of the same name.
    pub functions: Vec<(String, CustomFunction)>,
    /// Functions that always fail, besides `env` and `expandenv`.
    pub denied_functions: &'a [String],
    /// Keys, and what they are for.
    pub encryption: Option<EncryptionConfig<'a>>,
    /// The limits; defaults far above real use.
    pub budget: Budget,
}

impl fmt::Debug for EncryptionConfig<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("EncryptionConfig")
            .field("encrypts", &self.encrypts)
            .field("decrypts", &self.decrypts)
            .finish_non_exhaustive()
    }
}

/// A resolved document.
#[derive(Clone)]
pub struct Resolved {
    /// Compact JSON, keys sorted bytewise, HTML characters escaped.
    pub json: Vec<u8>,
    /// Whether a secret was read or an encrypted value decrypted, whether or not it shows.
    pub has_sensitive_data: bool,
    /// The fields whose text was computed from secrets or chosen by them, as JSON pointers into `json`.
    pub sensitive_fields: Vec<String>,
    /// The fields that a value computed from secrets reached without being encrypted, beyond what a condition reveals.
    pub derived_fields: Vec<DerivedField>,
    /// The reads made, in their order, each once.
    pub reads: Vec<Read>,
}

/// What is in the document may be secret; only its size is shown.
impl fmt::Debug for Resolved {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Resolved")
            .field("bytes", &self.json.len())
            .field("has_sensitive_data", &self.has_sensitive_data)
            .field("sensitive_fields", &self.sensitive_fields)
            .field("reads", &self.reads)
            .finish_non_exhaustive()
    }
}

/// A pair of delimiters that is set by half.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the configurations StartDelim and StopDelim cannot be set independently")]
pub struct IncompleteDelimiters;

/// Resolves documents.
#[derive(Clone, Debug)]
pub struct Resolver {
    config: Config,
    rewrites: Rewrites,
}

impl Default for Resolver {
    /// Nothing is disabled, and the delimiters are Go's.
    fn default() -> Self {
        let delimiters = Delimiters::default();
        let config = Config {
            start_delimiter: delimiters.left.to_owned(),
            stop_delimiter: delimiters.right.to_owned(),
            ..Config::default()
        };
        let rewrites = Rewrites::new(delimiters);
        Self { config, rewrites }
    }
}

impl Resolver {
    /// A resolver that works this way.
    pub fn new(mut config: Config) -> Result<Self, IncompleteDelimiters> {
        match (
            config.start_delimiter.is_empty(),
            config.stop_delimiter.is_empty(),
        ) {
            (true, true) => {
                let delimiters = Delimiters::default();
                delimiters.left.clone_into(&mut config.start_delimiter);
                delimiters.right.clone_into(&mut config.stop_delimiter);
            }
            (false, false) => {}
            _ => return Err(IncompleteDelimiters),
        }
        let rewrites = Rewrites::new(Delimiters {
            left: &config.start_delimiter,
            right: &config.stop_delimiter,
        });
        Ok(Self { config, rewrites })
    }

    fn delimiters(&self) -> Delimiters<'_> {
        Delimiters {
            left: &self.config.start_delimiter,
            right: &self.config.stop_delimiter,
        }
    }

    /// Prepares and resolves in one go, for reads that are all known.
    pub fn resolve(
        &self,
        input: Input<'_>,
        options: Options<'_>,
        reads: Rc<dyn Reads>,
        ambient: &mut dyn Ambient,
    ) -> Result<Resolved, Failed> {
        let prepared = self.prepare(input, options).map_err(Failed::early)?;
        prepared.resolve(reads, ambient)
    }

    /// Everything up to the first read. What is prepared can be resolved many times over, as the
    /// reads that it needs become known.
    pub fn prepare(
        &self,
        input: Input<'_>,
        options: Options<'_>,
    ) -> Result<Prepared, ResolveError> {
        let ciphers = options.encryption.as_ref().map(Ciphers::new).transpose()?;
        let ciphers = ciphers.unwrap_or_default();
        let data = options.context.into_data(options.mode)?;
        let (text, actions) = self.text(input)?;
        let decrypted = match &ciphers.decrypts {
            Some(encryption) => {
                DecryptedTokens::in_text(&text, encryption).map_err(ResolveError::Decryption)?
            }
            None => DecryptedTokens::default(),
        };
        let mut functions = FunctionTable::new();
        for name in &self.config.disabled_functions {
            functions.disable(name);
        }
        for (name, function) in options.functions {
            functions.add(name, function);
        }
        for name in options.denied_functions {
            functions.deny(name);
        }
        let template =
            self.parse(&text, &actions, &functions)
                .map_err(|source| ResolveError::Parse {
                    input: error::shown(input.bytes()),
                    source,
                })?;
        Ok(Prepared {
            input: input.bytes().to_vec(),
            template,
            functions,
            decrypted,
            data,
            encrypts: ciphers.encrypts,
            mode: options.mode,
            restrictions: options.restrictions,
            local: options.local,
            additional_indentation: self.config.additional_indentation,
            budget: options.budget,
        })
    }

    /// The YAML text that is the template, with the actions in it that quoting changed.
    fn text(&self, input: Input<'_>) -> Result<(String, Vec<QuotedAction>), ResolveError> {
        let json = match input {
            Input::Yaml(text) => return Ok((text.to_owned(), Vec::new())),
            Input::Json(json) => json,
        };
        let json: serde_json::Value = reeve_go_compat::json::tree(json)
            .map_err(|error| ResolveError::ToYaml(error.to_string()))?;
        let yaml = yaml::encode_json_with_actions(&json, &self.style())
            .map_err(|error| ResolveError::ToYaml(error.to_string()))?;
        let text = String::from_utf8_lossy(&yaml.text).into_owned();
        // Nobody writes this character; who does has the text as YAML has it.
        let actions = if text.contains(APOSTROPHE) {
            Vec::new()
        } else {
            yaml.actions
        };
        Ok((text, actions))
    }
}

/// The two uses of one set of keys.
#[derive(Default)]
struct Ciphers {
    encrypts: Option<Rc<Encryption>>,
    decrypts: Option<Rc<Encryption>>,
}

impl Ciphers {
    fn new(config: &EncryptionConfig<'_>) -> Result<Self, ResolveError> {
        if !config.encrypts && !config.decrypts {
            return Ok(Self::default());
        }
        let encryption = Encryption::new(
            config.key,
            config.fallback_key,
            config.initialization_vector,
        )
        .map_err(ResolveError::Encryption)?;
        let encryption = Rc::new(encryption);
        Ok(Self {
            encrypts: config.encrypts.then(|| encryption.clone()),
            decrypts: config.decrypts.then(|| encryption.clone()),
        })
    }
}

/// A parsed document, ready to be resolved with whatever reads are known.
pub struct Prepared {
    input: Vec<u8>,
    template: Template,
    functions: FunctionTable,
    decrypted: DecryptedTokens,
    data: Value,
    encrypts: Option<Rc<Encryption>>,
    mode: Mode,
    restrictions: Restrictions,
    local: Vec<Object>,
    additional_indentation: u32,
    budget: Budget,
}

impl Prepared {
    /// What the template will ask for whatever happens: lookups whose arguments are constants.
    /// Fetched before the first round, they spare a round each. Kinds come before their objects;
    /// a read of a kind that turns out to be cluster-scoped is made, and kept, without namespace.
    pub fn constant_reads(&self) -> Vec<Needed> {
        prefetch::constant_reads(&self.template, &self.restrictions)
    }

    fn cluster(&self, reads: Rc<dyn Reads>) -> Cluster {
        let mut cluster = Cluster::new(reads)
            .with_restrictions(self.restrictions.clone())
            .with_local(self.local.clone())
            .with_additional_indentation(self.additional_indentation);
        if let Some(encryption) = &self.encrypts {
            cluster = cluster.with_encryption(encryption.clone());
        }
        if self.mode == Mode::Watch {
            cluster = cluster.in_watch_mode();
        }
        cluster
    }

    /// Resolves with the reads known so far. A failure that [needs](Failed::needed) a read is no
    /// failure of the template: make the read and resolve again.
    ///
    /// The maps of the context are copied, so that what a template sets in them is forgotten.
    pub fn resolve(
        &self,
        reads: Rc<dyn Reads>,
        ambient: &mut dyn Ambient,
    ) -> Result<Resolved, Failed> {
        let mut cluster = self.cluster(reads);
        let mut meter = Meter::new(self.budget.clone());
        let env = Env {
            meter: &mut meter,
            ambient,
            cluster: &mut cluster,
        };
        let rendered = execute(
            &self.template,
            &self.functions,
            self.data.deep_copy(),
            &self.decrypted,
            env,
        );
        let has_sensitive_data = cluster.found_secret() || self.decrypted.any();
        let failed = |error, quotes_secrets| Failed {
            error,
            has_sensitive_data,
            quotes_secrets,
            reads: cluster.reads_made(),
        };
        let rendered = rendered.map_err(|source| {
            let quotes_secrets = source.derived;
            let error = ResolveError::Execute {
                input: error::shown(&self.input),
                source,
            };
            failed(error, quotes_secrets)
        })?;
        let quotes_secrets = !rendered.derived.is_empty();
        let to_json = |error: String| failed(ResolveError::ToJson(error), quotes_secrets);
        let decoded = sensitive::decode(&rendered).map_err(|error| to_json(error.to_string()))?;
        let json = json::encode(&decoded.value, Escape::Html)
            .map_err(|error| to_json(error.to_string()))?;
        Ok(Resolved {
            json,
            has_sensitive_data,
            sensitive_fields: decoded.sensitive,
            derived_fields: decoded.derived,
            reads: cluster.reads_made(),
        })
    }
}
