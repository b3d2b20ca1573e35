//! Objects of thousands of levels, in requests and in answers.

use std::borrow::Cow;

use anyhow::{Context as _, Result};

/// Answers with more levels than this are cut.
const SHOWN: usize = 60;

/// A body with every `$DEEP(n)` written out: n objects, each the only field of the one around it.
pub(crate) fn written(body: &str) -> Result<String> {
    let mut parts = body.split("$DEEP(");
    let mut whole = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (number, rest) = part.split_once(')').context("$DEEP( without )")?;
        let levels: usize = number.parse().context("$DEEP of no number")?;
        whole.push_str(&"{\"a\":".repeat(levels));
        whole.push('1');
        whole.push_str(&"}".repeat(levels));
        whole.push_str(rest);
    }
    Ok(whole)
}

/// JSON in which every value below some levels is a text with its number of levels and its length: what can be read and
/// compared by those who recurse.
pub(crate) fn cut(json: &[u8]) -> Cow<'_, [u8]> {
    if !matches!(json.first(), Some(b'{' | b'[')) {
        return Cow::Borrowed(json);
    }
    let (mut shown, mut depth, mut cut) = (Vec::new(), 0_usize, None);
    let (mut in_text, mut escaped) = (false, false);
    for byte in json {
        let opens = !in_text && matches!(byte, b'{' | b'[');
        let closes = !in_text && matches!(byte, b'}' | b']');
        depth += usize::from(opens);
        if opens && depth > SHOWN {
            let (deepest, length) = cut.unwrap_or((0, 0));
            cut = Some((depth.max(deepest), length));
        }
        match &mut cut {
            Some((_, length)) => *length += 1,
            None => shown.push(*byte),
        }
        depth = depth.saturating_sub(usize::from(closes));
        if closes
            && depth == SHOWN
            && let Some((deepest, length)) = cut.take()
        {
            shown.extend(format!("\"{deepest} levels in {length} bytes\"").bytes());
        }
        (in_text, escaped) = match byte {
            _ if escaped => (in_text, false),
            b'\\' if in_text => (true, true),
            b'"' => (!in_text, false),
            _ => (in_text, false),
        };
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deep_answer_is_cut_and_shallow_one_stays() {
        let shallow = br#"{"a":["}}{{\"",{"b":1}]}"#;
        assert_eq!(&*cut(shallow), shallow);
        let deep = written(r#"{"x":$DEEP(200),"y":2}"#).unwrap();
        let cut: serde_json::Value = serde_json::from_slice(&cut(deep.as_bytes())).unwrap();
        assert_eq!(cut["y"], 2);
        assert!(cut.to_string().contains("201 levels in 847 bytes"), "{cut}");
    }
}
