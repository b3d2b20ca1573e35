//! Differences that stay, with their reasons. One that is no more must be taken from the list.

/// A test, the begin of the differences of a case in it, and the reason.
const KNOWN: &[(&str, &str, &str)] = &[
    (
        "answer",
        "builtins-aws",
        "providers.aws.sign_req is not supported: a template that calls it is refused",
    ),
    (
        "answer",
        "builtins-graphql",
        "graphql functions are not supported: a template that calls one is refused",
    ),
    (
        "answer",
        "builtins-jwt",
        "io.jwt functions are not supported: a template that calls one is refused",
    ),
    (
        "answer",
        "builtins-other",
        "rego.parse_module, json.match_schema and others are not supported: a template that calls one is refused",
    ),
    (
        "answer",
        "builtins-encoding",
        "the engine has no texts of numbers: 2.50 is 2.5, and 1e3 is 1000",
    ),
    (
        "answer",
        "builtins-numbers",
        "the engine has no texts of numbers, and computes whole numbers exactly",
    ),
    (
        "answer",
        "sprintf-verbs",
        "the engine has no texts of numbers: 1e3 is a whole number, and so is what is beyond a float's precision",
    ),
    ("refusal", "builtins-aws", "not supported"),
    ("refusal", "builtins-graphql", "not supported"),
    ("refusal", "builtins-jwt", "not supported"),
    ("refusal", "builtins-other", "not supported"),
    (
        "refusal",
        "builtins-arguments-typed",
        "arguments of the wrong type are undefined at the review, not refused at load",
    ),
    (
        "refusal",
        "compile-errors",
        "types of expressions are not checked at load",
    ),
    (
        "text",
        "builtins-arguments-typed",
        "signatures are not printed",
    ),
    (
        "text",
        "cel-reserved",
        "the text of a source that is no object is ours",
    ),
    (
        "text",
        "compile-errors",
        "the parser's texts are the engine's",
    ),
    (
        "text",
        "template-duplicate",
        "the parser's texts are the engine's",
    ),
    (
        "text",
        "template-metadata",
        "the text of a version that there is not is ours",
    ),
    (
        "text",
        "version-of-code",
        "the parser's texts are the engine's",
    ),
];

/// The differences without those that stay. Panics when one that stays is no more.
pub fn without(what: &str, found: Vec<String>) -> Vec<String> {
    let known: Vec<&str> = KNOWN
        .iter()
        .filter(|(test, _, _)| *test == what)
        .map(|(_, case, _)| *case)
        .collect();
    for case in &known {
        assert!(
            found.iter().any(|one| one.starts_with(case)),
            "{what}: {case} differs no more"
        );
    }
    found
        .into_iter()
        .filter(|one| !known.iter().any(|case| one.starts_with(case)))
        .collect()
}
