//! Character classes by name.

use regex_syntax::hir::{Class, HirKind};

/// `\d`, `\s` and `\w`, which are ASCII in Go, as the inside of a bracketed class. The second part
/// is whether it is the negated form.
pub fn perl(letter: u8) -> Option<(&'static str, bool)> {
    let class = match letter.to_ascii_lowercase() {
        b'd' => "0-9",
        b's' => r"\t\n\x0c\r\x20",
        b'w' => "0-9A-Za-z_",
        _ => return None,
    };
    Some((class, letter.is_ascii_uppercase()))
}

/// `[:alpha:]` and its like, as the inside of a bracketed class.
pub fn posix(name: &str) -> Option<(&'static str, bool)> {
    let inner = name.strip_prefix("[:")?.strip_suffix(":]")?;
    let (inner, negated) = match inner.strip_prefix('^') {
        Some(inner) => (inner, true),
        None => (inner, false),
    };
    let class = match inner {
        "alnum" => "0-9A-Za-z",
        "alpha" => "A-Za-z",
        "ascii" => r"\x00-\x7f",
        "blank" => r"\t\x20",
        "cntrl" => r"\x00-\x1f\x7f",
        "digit" => "0-9",
        "graph" => r"\x21-\x7e",
        "lower" => "a-z",
        "print" => r"\x20-\x7e",
        "punct" => r"\x21-\x2f\x3a-\x40\x5b-\x60\x7b-\x7e",
        "space" => r"\t\n\x0b\x0c\r\x20",
        "upper" => "A-Z",
        "word" => "0-9A-Za-z_",
        "xdigit" => "0-9A-Fa-f",
        _ => return None,
    };
    Some((class, negated))
}

/// A category or script by the name in `\p{…}`, as the inside of a bracketed class. Go takes names
/// in any case and with any separators, but knows fewer properties.
pub fn unicode(name: &str) -> Option<String> {
    let canonical = canonical(name);
    match canonical.as_str() {
        "Any" => return Some(r"\x{0}-\x{10ffff}".to_owned()),
        "Assigned" => return Some(r"\p{assigned}".to_owned()),
        "Ascii" => return Some(r"\x00-\x7f".to_owned()),
        "Lc" => return Some(r"\p{Lu}\p{Ll}\p{Lt}".to_owned()),
        _ => {}
    }
    if canonical.is_empty() || !canonical.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return None;
    }
    let category = format!(r"\p{{gc={canonical}}}");
    if is_known(&category) {
        return Some(category);
    }
    SCRIPTS
        .contains(&canonical.as_str())
        .then(|| format!(r"\p{{sc={canonical}}}"))
}

/// The scripts that Go finds by name: those whose names are single words, for it drops the
/// underscores of what it looks for, not of what it knows.
const SCRIPTS: [&str; 117] = [
    "Adlam",
    "Ahom",
    "Arabic",
    "Armenian",
    "Avestan",
    "Balinese",
    "Bamum",
    "Batak",
    "Bengali",
    "Bhaiksuki",
    "Bopomofo",
    "Brahmi",
    "Braille",
    "Buginese",
    "Buhid",
    "Carian",
    "Chakma",
    "Cham",
    "Cherokee",
    "Chorasmian",
    "Common",
    "Coptic",
    "Cuneiform",
    "Cypriot",
    "Cyrillic",
    "Deseret",
    "Devanagari",
    "Dogra",
    "Duployan",
    "Elbasan",
    "Elymaic",
    "Ethiopic",
    "Georgian",
    "Glagolitic",
    "Gothic",
    "Grantha",
    "Greek",
    "Gujarati",
    "Gurmukhi",
    "Han",
    "Hangul",
    "Hanunoo",
    "Hatran",
    "Hebrew",
    "Hiragana",
    "Inherited",
    "Javanese",
    "Kaithi",
    "Kannada",
    "Katakana",
    "Kawi",
    "Kharoshthi",
    "Khmer",
    "Khojki",
    "Khudawadi",
    "Lao",
    "Latin",
    "Lepcha",
    "Limbu",
    "Lisu",
    "Lycian",
    "Lydian",
    "Mahajani",
    "Makasar",
    "Malayalam",
    "Mandaic",
    "Manichaean",
    "Marchen",
    "Medefaidrin",
    "Miao",
    "Modi",
    "Mongolian",
    "Mro",
    "Multani",
    "Myanmar",
    "Nabataean",
    "Nandinagari",
    "Newa",
    "Nko",
    "Nushu",
    "Ogham",
    "Oriya",
    "Osage",
    "Osmanya",
    "Palmyrene",
    "Phoenician",
    "Rejang",
    "Runic",
    "Samaritan",
    "Saurashtra",
    "Sharada",
    "Shavian",
    "Siddham",
    "Sinhala",
    "Sogdian",
    "Soyombo",
    "Sundanese",
    "Syriac",
    "Tagalog",
    "Tagbanwa",
    "Takri",
    "Tamil",
    "Tangsa",
    "Tangut",
    "Telugu",
    "Thaana",
    "Thai",
    "Tibetan",
    "Tifinagh",
    "Tirhuta",
    "Toto",
    "Ugaritic",
    "Vai",
    "Vithkuqi",
    "Wancho",
    "Yezidi",
    "Yi",
];

fn is_known(class: &str) -> bool {
    regex_syntax::parse(class).is_ok_and(|hir| {
        matches!(
            hir.kind(),
            HirKind::Class(Class::Unicode(_)) | HirKind::Literal(_)
        )
    })
}

fn canonical(name: &str) -> String {
    let mut first = true;
    name.chars()
        .filter(|character| !matches!(character, '_' | '-' | ' '))
        .map(|character| {
            if std::mem::replace(&mut first, false) {
                character.to_ascii_uppercase()
            } else {
                character.to_ascii_lowercase()
            }
        })
        .collect()
}
