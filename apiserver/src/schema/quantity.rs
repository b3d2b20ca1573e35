//! `resource.Quantity`: amounts with a suffix, which are written in one way.

use serde_json::Value;

const NO_NUMBER: &str =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const NO_SUFFIX: &str = "unable to parse quantity's suffix";
/// Suffixes of powers of 1000, from that of -9 on.
const DECIMAL: [(&str, i32); 10] = [
    ("n", -9),
    ("u", -6),
    ("m", -3),
    ("", 0),
    ("k", 3),
    ("M", 6),
    ("G", 9),
    ("T", 12),
    ("P", 15),
    ("E", 18),
];
/// Suffixes of powers of 1024.
const BINARY: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Decimal,
    Binary,
    Exponent,
}

/// Whole digits times ten to the power.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Amount {
    digits: i128,
    power: i32,
}

impl Amount {
    /// Without zeros at the end, at a power that is a multiple of three; nothing finer than a thousandth.
    fn canonical(mut self) -> Option<Self> {
        if self.digits == 0 {
            return Some(Self {
                digits: 0,
                power: 0,
            });
        }
        while self.digits % 10 == 0 {
            self.digits /= 10;
            self.power += 1;
        }
        while self.power < -3 {
            let up = i128::from(self.digits > 0 && self.digits % 10 != 0);
            self.digits = self.digits / 10 + up;
            self.power += 1;
        }
        while self.power.rem_euclid(3) != 0 || self.power > 18 {
            self.digits = self.digits.checked_mul(10)?;
            self.power -= 1;
        }
        // Rounding may have made new zeros.
        while self.digits % 1000 == 0 && self.digits != 0 && self.power < 18 {
            self.digits /= 1000;
            self.power += 3;
        }
        Some(self)
    }

    fn written(self, form: Form) -> String {
        let suffix = match form {
            Form::Exponent if self.power == 0 => String::new(),
            Form::Exponent => format!("e{}", self.power),
            _ => DECIMAL
                .iter()
                .find(|(_, power)| *power == self.power)
                .map_or_else(String::new, |(suffix, _)| (*suffix).to_owned()),
        };
        format!("{}{suffix}", self.digits)
    }
}

/// A quantity as it is written again; what is in that form but for signs and zeros stays as it is.
pub(super) fn quantity(value: &Value) -> Result<String, String> {
    let text = match value {
        Value::String(text) => text.trim().to_owned(),
        other => other.to_string(),
    };
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(&text);
    let end = unsigned
        .find(|letter: char| !letter.is_ascii_digit() && letter != '.')
        .unwrap_or(unsigned.len());
    let (number, suffix) = unsigned.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.len() + fraction.len() == 0 || fraction.contains('.') {
        return Err(NO_NUMBER.to_owned());
    }
    let (form, power, scale) = read_suffix(suffix)?;
    let sign = if text.starts_with('-') { -1 } else { 1 };
    let digits = format!("{whole}{fraction}").parse::<i128>().ok();
    // Amounts that do not fit stay as they are.
    let digits = digits.filter(|digits| *digits < 1 << 62);
    let (Some(digits), Ok(places)) = (digits, i32::try_from(fraction.len())) else {
        return Ok(text);
    };
    let given = Amount {
        digits: digits * sign,
        power: power - places,
    };
    let again = written(given, form, scale);
    if places > 0 && again.is_none() && given.digits != 0 {
        return Ok(given.written(form));
    }
    Ok(again.unwrap_or(text))
}

/// The value of a quantity in billionths; nothing if it is not a number, or too large.
pub(crate) fn billionths(text: &str) -> Option<i128> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let end = unsigned
        .find(|letter: char| !letter.is_ascii_digit() && letter != '.')
        .unwrap_or(unsigned.len());
    let (number, suffix) = unsigned.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits: i128 = format!("{whole}{fraction}").parse().ok()?;
    let (_, power, scale) = read_suffix(suffix).ok()?;
    let power = power + 9 - i32::try_from(fraction.len()).ok()?;
    let factor = 1_i128.checked_shl(u32::try_from(scale).ok()? * 10)?;
    let digits = digits.checked_mul(factor)?;
    let amount = match u32::try_from(power) {
        Ok(power) => digits.checked_mul(10_i128.checked_pow(power)?)?,
        Err(_) => digits / 10_i128.checked_pow(power.unsigned_abs())?,
    };
    Some(if text.starts_with('-') {
        -amount
    } else {
        amount
    })
}

/// The form, the power of ten, and the power of 1024.
fn read_suffix(suffix: &str) -> Result<(Form, i32, usize), String> {
    if let Some((_, power)) = DECIMAL.iter().find(|(known, _)| *known == suffix) {
        return Ok((Form::Decimal, *power, 0));
    }
    if let Some(scale) = BINARY.iter().position(|known| *known == suffix) {
        return Ok((Form::Binary, 0, scale));
    }
    let known = |letter: char| "eEinumkKMGTP+-".contains(letter) || letter.is_ascii_digit();
    match suffix.strip_prefix(['e', 'E']).map(str::parse::<i32>) {
        Some(Ok(power)) if (-100..=100).contains(&power) => Ok((Form::Exponent, power, 0)),
        _ if suffix.chars().all(known) => Err(NO_SUFFIX.to_owned()),
        _ => Err(NO_NUMBER.to_owned()),
    }
}

/// Nothing, if it is as it was given, or too much.
fn written(given: Amount, form: Form, scale: usize) -> Option<String> {
    if form != Form::Binary {
        let canonical = given.canonical()?;
        return (canonical != given).then(|| canonical.written(form));
    }
    let factor = 1_i128.checked_shl(u32::try_from(scale).ok()? * 10)?;
    let amount = Amount {
        digits: given.digits.checked_mul(factor)?,
        power: given.power,
    };
    let canonical = amount.canonical()?;
    if canonical.power < 0 {
        return Some(canonical.written(Form::Decimal));
    }
    let mut whole = canonical
        .digits
        .checked_mul(10_i128.checked_pow(u32::try_from(canonical.power).ok()?)?)?;
    let mut at = 0;
    while whole != 0 && whole % 1024 == 0 && at + 1 < BINARY.len() {
        whole /= 1024;
        at += 1;
    }
    if given.power == 0 && given.digits == whole && at == scale {
        return None;
    }
    let suffix = BINARY.get(at).copied().unwrap_or_default();
    Some(format!("{whole}{suffix}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("1", Some(1_000_000_000))]
    #[case("-500m", Some(-500_000_000))]
    #[case("1Ki", Some(1_024_000_000_000))]
    #[case("0.5Gi", Some(536_870_912_000_000_000))]
    #[case("1e3", Some(1_000_000_000_000))]
    #[case("1n", Some(1))]
    #[case("99999999999999999999999999999999999999Ei", None)]
    #[case("x", None)]
    fn how_much(#[case] text: &str, #[case] amount: Option<i128>) {
        assert_eq!(billionths(text), amount);
    }

    /// As the quotas of a kube-apiserver were written.
    #[rstest::rstest]
    #[case("2000m", "2")]
    #[case("1024Mi", "1Gi")]
    #[case("+1", "+1")]
    #[case("1u", "1m")]
    #[case("0.5", "500m")]
    #[case("1000000", "1M")]
    #[case("12E3", "12E3")]
    #[case("1.", "1.")]
    #[case(".5", "500m")]
    #[case("1500m", "1500m")]
    #[case("0", "0")]
    #[case("0.1234567891234", "124m")]
    #[case("1048576Ki", "1Gi")]
    #[case("1.5Gi", "1536Mi")]
    #[case("128974848000m", "128974848")]
    #[case("1e-3", "1e-3")]
    #[case("0.001e3", "1")]
    #[case("10e1", "100")]
    #[case("1000e3", "1e6")]
    #[case("100Ki", "100Ki")]
    #[case("1536Ki", "1536Ki")]
    #[case("00012", "00012")]
    #[case("1.50", "1500m")]
    #[case("1000n", "1m")]
    #[case("12345678901234567890", "12345678901234567890")]
    #[case("0.5Ki", "512")]
    #[case("1Ei", "1Ei")]
    #[case("0.3Ki", "307200m")]
    #[case("100000000000", "100G")]
    #[case("1.25Mi", "1280Ki")]
    #[case("1000Gi", "1000Gi")]
    fn quantities_are_written_as_kubernetes_writes_them(#[case] given: &str, #[case] kept: &str) {
        assert_eq!(quantity(&given.into()).as_deref(), Ok(kept));
    }

    #[test]
    fn invalid_quantity_is_refused() {
        for given in ["", "x", "1.2.3", "true"] {
            assert_eq!(quantity(&given.into()).unwrap_err(), NO_NUMBER, "{given}");
        }
        for given in ["1000K", "1mm", "1e"] {
            assert_eq!(quantity(&given.into()).unwrap_err(), NO_SUFFIX, "{given}");
        }
        assert_eq!(quantity(&serde_json::json!(0.5)).as_deref(), Ok("500m"));
    }
}
