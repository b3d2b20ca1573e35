//! Upper, lower and title case, by Go's simple one-to-one case mappings.

use unicode_general_category::{GeneralCategory as Category, get_general_category};

use super::strings::decode_all;
use crate::function::Parameter::Str;
use crate::function::{Arguments, Env, Function};
use crate::functions::define::{Answer, Group, answer, charge_bytes, takes};
use reeve_go_compat::runes::{self, is_upper, to_lower, to_title, to_upper};
use reeve_go_compat::value::Value;

const CASE: Group = Group("Upper and lower case");

/// The table of this topic.
pub const FUNCTIONS: &[Function] = &[
    CASE.function("upper", takes(&[Str]), upper, "text", "The text in upper case."),
    CASE.function("lower", takes(&[Str]), lower, "text", "The text in lower case."),
    CASE.function("title", takes(&[Str]), title, "text", "The text with the first letter of every word in title case."),
    CASE.function("untitle", takes(&[Str]), untitle, "text", "The text with the first letter of every word in lower case."),
    CASE.function("swapcase", takes(&[Str]), swapcase, "text", "Upper case becomes lower case and the reverse; a lower-case letter that starts a word becomes title case."),
    CASE.function("camelcase", takes(&[Str]), camelcase, "text", "Joins words as in `HttpServer`, from `http_server`, `http-server` or `http server`."),
    CASE.function("snakecase", takes(&[Str]), snakecase, "text", "Joins words as in `http_server`, from `HTTPServer`, `http-server` or `http server`."),
    CASE.function("kebabcase", takes(&[Str]), kebabcase, "text", "Joins words as in `http-server`, from `HTTPServer`, `http_server` or `http server`."),
];

fn mapped(env: &mut Env<'_>, text: &[u8], mapping: impl FnMut(char) -> char) -> Answer {
    charge_bytes(env, text.len())?;
    answer(
        decode_all(text)
            .into_iter()
            .map(mapping)
            .collect::<String>(),
    )
}

fn upper(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    mapped(env, arguments.str(0)?, to_upper)
}

fn lower(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    mapped(env, arguments.str(0)?, to_lower)
}

fn separates(rune: char) -> bool {
    if rune.is_ascii() {
        return !rune.is_ascii_alphanumeric() && rune != '_';
    }
    !runes::is_letter(rune) && !runes::is_digit(rune) && rune.is_whitespace()
}

fn title(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let mut previous = ' ';
    mapped(env, arguments.str(0)?, |rune| {
        let starts = separates(previous);
        previous = rune;
        if starts { to_title(rune) } else { rune }
    })
}

fn untitle(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let mut starts = true;
    mapped(env, arguments.str(0)?, |rune| {
        if rune.is_whitespace() {
            starts = true;
            return rune;
        }
        let answer = if starts { to_lower(rune) } else { rune };
        starts = false;
        answer
    })
}

fn swapcase(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let mut after_space = true;
    mapped(env, arguments.str(0)?, |rune| {
        match get_general_category(rune) {
            Category::UppercaseLetter | Category::TitlecaseLetter => {
                after_space = false;
                to_lower(rune)
            }
            Category::LowercaseLetter if after_space => {
                after_space = false;
                to_title(rune)
            }
            Category::LowercaseLetter => to_upper(rune),
            _ => {
                after_space = rune.is_whitespace();
                rune
            }
        }
    })
}

fn connects(rune: char) -> bool {
    rune == '-' || rune == '_' || rune.is_whitespace()
}

/// After `ToPascalCase` of github.com/huandu/xstrings: connectors go, unless they lead or stand
/// beside others, and what follows one is upper-cased.
fn camelcase(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let text = arguments.str(0)?;
    charge_bytes(env, text.len())?;
    let characters = decode_all(text);
    let leading = characters
        .iter()
        .take_while(|rune| connects(**rune))
        .count();
    let mut result: String = characters.iter().take(leading).collect();
    let mut rest = characters.iter().skip(leading).copied();
    let Some(first) = rest.next() else {
        // The last connector of a text of nothing else is written twice.
        result.extend(characters.last());
        return answer(result);
    };
    let mut was_upper = is_upper(first);
    let mut current = to_upper(first);
    for next in rest {
        let previous = std::mem::replace(&mut current, next);
        if connects(previous) && connects(current) {
            result.push(previous);
        } else if connects(previous) {
            was_upper = is_upper(current);
            current = to_upper(current);
        } else {
            if was_upper && is_upper(current) {
                current = to_lower(current);
            } else {
                was_upper = false;
            }
            result.push(previous);
        }
    }
    result.push(current);
    answer(result)
}

fn snakecase(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let text = arguments.str(0)?;
    charge_bytes(env, text.len())?;
    Ok(Value::Str(super::words::joined_lower(text, '_').into()))
}

fn kebabcase(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let text = arguments.str(0)?;
    charge_bytes(env, text.len())?;
    Ok(Value::Str(super::words::joined_lower(text, '-').into()))
}
