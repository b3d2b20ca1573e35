//! Go templates with Kubernetes lookups and encryption, for policies.
//!
//! A policy's document is one template: JSON becomes YAML text, the text is executed as Go's
//! `text/template` would, and what it writes is read as YAML again. Authors have such templates
//! already, and tools and people read their error texts in statuses; so output and errors are
//! those of Go, Sprig and go-yaml to the letter, line and column included.
//!
//! Pure: nothing here knows a Kubernetes client. Reads come from a snapshot ([`lookup::Reads`]),
//! clock and randomness from [`ambient::Ambient`].
//!
//! # Stages
//!
//! | stage | where |
//! |---|---|
//! | all stages, options and errors | [`resolver`] |
//! | encrypted values, `protect` | [`encryption`] |
//! | fields that are no strings, `autoindent` | `rewrite` |
//! | text to tree to output | [`language`] |
//! | values, their printing, JSON and YAML | [`reeve_go_compat`] |
//! | functions, by topic | [`functions`] |
//! | reads from the cluster and their restrictions | [`lookup`] |
//! | limits on steps, output, depth and time | [`budget`] |
//! | before resolving: does this text have templates, secrets, mistakes? | [`detect`], [`lint`] |
//!
//! # Rounds
//!
//! A render never waits. A read that is not in the snapshot ends it with
//! [`resolver::Failed::needed`]; the caller makes the read, keeps the answer, and resolves the same
//! [`resolver::Prepared`] document again. Reads whose arguments are constants are known before the
//! first round ([`resolver::Prepared::constant_reads`]). The snapshot of the last round replays
//! the render byte for byte.
//!
//! # Secrets
//!
//! Every value records whether it was computed from a secret: through functions, variables, maps,
//! sub-templates and conditions. [`resolver::Resolved::sensitive_fields`] names the fields of the
//! result that such values reached. [`resolver::Resolved::has_sensitive_data`] is upstream's
//! coarser flag: a secret was read.
//!
//! # Where it differs
//!
//! From upstream (`stolostron/go-template-utils` 7 with Go's `text/template`), on purpose:
//!
//! | what | upstream | here |
//! |---|---|---|
//! | `k: {{ 1 \| toInt }}` unquoted | the newline behind it is lost, the next field joins it | stays |
//! | `'` in an action of a string that YAML puts in single quotes | doubled: `"it's"` becomes `it''s` | the author's text |
//! | an action in a string that YAML puts in double quotes (trailing space, tab, CRLF, emoji) | fails: `unexpected "\\" in operand` | works |
//! | decrypted text | pasted before parsing: `{{` in a secret runs | never read as a template; columns behind it on its line count the token |
//! | tokens that start alike | may corrupt each other | each replaced in its place |
//! | a token of a wrong length | the process dies | an error |
//! | a wrong key with a padding that is valid by chance | garbage | refused unless it is UTF-8; then the other key is tried |
//! | an empty previous key | every decryption fails | counts as none |
//! | which templates need encryption | first word or last stage of an action | any use in the parsed template |
//! | a changed result of `lookup` | changes later lookups of a plain render | changes no other lookup |
//! | the order of a list | as objects arrived | by namespace and name |
//! | a second `fromSecret` of a missing secret | empty | the same error |
//! | `keys`, `values` | in random order | sorted |
//! | endless loops, recursion, huge results | until memory ends | [`budget`]: an error that names the limit |
//! | a dict put into itself | crashes when printed | refused, and so are more than 1,000 nested levels by `set` and `merge` |
//! | a `lookup` by name of a namespaced kind without namespace | by watches: an object of any namespace | the first by namespace |
//! | what one document may hold | no bound | 2 million YAML nodes, 64 MiB through aliases; patterns up to 128 KiB |
//! | the linter on damaged text | all findings | at most 1,000 of most rules |
//! | errors that quote the input | all of it | its first 32 KiB |
//! | complex numbers (`1i`) | a type of their own | parsed, refused when evaluated |
//!
//! Errors show an action's own delimiters (`{{hubendhub}}`), as `text/template` does from Go 1.27
//! on.

pub mod ambient;
pub mod budget;
pub mod detect;
pub mod encryption;
pub mod function;
pub mod functions;
pub mod hints;
pub mod language;
pub mod lint;
pub mod lookup;
mod messages;
mod methods;
pub mod reference;
pub mod resolver;
mod rewrite;
