//! The clauses of a template of `format`, against the types of what they show.

use crate::cel::messages;
use crate::cel::types::{DURATION, TIMESTAMP, Type};

/// What is wrong with the template for values of these types.
pub fn problem(template: &str, types: &[Type]) -> Option<String> {
    let mut types = types.iter();
    let mut used = 0_usize;
    let mut characters = template.chars().peekable();
    while let Some(character) = characters.next() {
        if character != '%' || characters.next_if_eq(&'%').is_some() {
            continue;
        }
        let verb = characters.find(|one| *one != '.' && !one.is_ascii_digit());
        let Some(verb) = verb else {
            return Some(messages::UNEXPECTED_END.to_owned());
        };
        let Some(wanted) = messages::clause_name(verb) else {
            return Some(messages::unknown_clause(verb));
        };
        let Some(of) = types.next() else {
            return Some(messages::no_argument(used));
        };
        used += 1;
        if !fits(verb, of) {
            return Some(messages::clause_mismatch(wanted, &of.to_string()));
        }
    }
    None
}

fn fits(verb: char, of: &Type) -> bool {
    let is_integer = matches!(of, Type::Int | Type::UInt | Type::Dyn);
    match verb {
        's' => match of {
            Type::Named(_) => *of == TIMESTAMP || *of == DURATION,
            Type::Optional(_) | Type::Struct(_) => false,
            _ => true,
        },
        'd' | 'o' => is_integer,
        'f' | 'e' => is_integer || *of == Type::Double,
        'b' => is_integer || *of == Type::Bool,
        _ => is_integer || matches!(of, Type::String | Type::Bytes),
    }
}
