//! Whole documents through the resolver: examples of the behaviour reference and golden vectors.

mod contexts;
mod encryption;
mod functions;
mod lookups;
mod quoting;
mod vectors;

/// Compares a table of inputs with what they become, and prints how many there were.
pub(super) fn check(
    name: &str,
    resolve: impl Fn(&str) -> Result<String, String>,
    rows: &[(&str, Result<&str, &str>)],
) {
    for (input, expected) in rows {
        let got = resolve(input);
        match expected {
            Ok(expected) => assert_eq!(got.as_deref(), Ok(*expected), "{name}: {input}"),
            // Errors start with the whole input; what follows it is what counts.
            Err(expected) => match got {
                Err(text) => assert!(
                    text.ends_with(expected),
                    "{name}: {input}\n want …{expected}\n got  {text}"
                ),
                Ok(json) => panic!("{name}: {input} should fail, not give {json}"),
            },
        }
    }
    println!("{name}: {} cases", rows.len());
}
