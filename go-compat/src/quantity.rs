//! Kubernetes quantities (`500m`, `2Gi`, `1e3`) as `k8s.io/apimachinery/pkg/api/resource` reads and writes them.

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
/// No power of ten of an exponent is beyond this where an amount is written again.
const MAX_EXPONENT: u32 = 100;

/// Why a text is no quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// It is no number with a suffix.
    #[error(
        "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
    )]
    Format,
    /// There is no such suffix.
    #[error("unable to parse quantity's suffix")]
    Suffix,
    /// It is one, but its digits do not fit 127 bits.
    #[error("the quantity has too many digits")]
    TooLong,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Decimal,
    Binary,
    Exponent,
}

/// An amount: `mantissa * 10^ten * 1024^two`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantity {
    mantissa: i128,
    ten: i32,
    two: u32,
    form: Form,
    has_fraction: bool,
}

impl Quantity {
    /// Reads a quantity.
    pub fn parse(text: &str) -> Result<Self, QuantityError> {
        let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
        let end = unsigned
            .find(|letter: char| !letter.is_ascii_digit() && letter != '.')
            .unwrap_or(unsigned.len());
        let (number, suffix) = unsigned.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if whole.len() + fraction.len() == 0 || fraction.contains('.') {
            return Err(QuantityError::Format);
        }
        let (form, ten, two) = read_suffix(suffix)?;
        let sign = if text.starts_with('-') { "-" } else { "" };
        let mantissa = format!("{sign}{whole}{fraction}").parse().ok();
        let places = i32::try_from(fraction.len()).ok();
        let ten = places.and_then(|places| ten.checked_sub(places));
        let (mantissa, ten) = mantissa.zip(ten).ok_or(QuantityError::TooLong)?;
        Ok(Self {
            mantissa,
            ten,
            two,
            form,
            has_fraction: !fraction.is_empty(),
        })
    }

    /// `Quantity.AsApproximateFloat64`, with the same last bits; `None` if the amount without its
    /// power of ten does not fit 127 bits.
    pub fn approximate(self) -> Option<f64> {
        #[allow(clippy::cast_precision_loss)] // upstream rounds here, too
        let base = self.without_binary()? as f64;
        Some(if self.ten == 0 {
            base
        } else {
            base * 10_f64.powi(self.ten)
        })
    }

    /// The amount in billionths, rounded away from zero as Kubernetes does; `None` if it does not fit 127 bits.
    pub fn nanos(self) -> Option<i128> {
        let base = self.without_binary()?;
        if base == 0 {
            return Some(0);
        }
        let power = self.ten.checked_add(9)?;
        let factor = 10_i128.checked_pow(power.unsigned_abs());
        if power >= 0 {
            return base.checked_mul(factor?);
        }
        // Without a factor the amount is far below a billionth.
        let (whole, rest) = factor.map_or((0, base), |factor| (base / factor, base % factor));
        Some(whole + rest.signum())
    }

    /// As an API server writes it again; `None` if it stays as it was written, because it is in that form but for signs
    /// and zeros, or too large.
    pub fn canonical(self) -> Option<String> {
        // Upstream keeps amounts in 63 bits.
        if self.mantissa.unsigned_abs() >= 1 << 62 || self.ten.unsigned_abs() > MAX_EXPONENT {
            return None;
        }
        let (digits, power) = canonical(self.without_binary()?, self.ten)?;
        if self.form == Form::Binary && power >= 0 {
            let factor = 10_i128.checked_pow(power.unsigned_abs())?;
            return self.canonical_binary(digits.checked_mul(factor)?);
        }
        let unchanged = (self.mantissa, self.ten, self.two) == (digits, power, 0);
        if unchanged && !self.has_fraction {
            return None;
        }
        let suffix = match self.form {
            Form::Exponent if power == 0 => String::new(),
            Form::Exponent => format!("e{power}"),
            Form::Decimal | Form::Binary => DECIMAL
                .iter()
                .find(|(_, known)| *known == power)
                .map_or_else(String::new, |(suffix, _)| (*suffix).to_owned()),
        };
        Some(format!("{digits}{suffix}"))
    }

    fn canonical_binary(self, mut whole: i128) -> Option<String> {
        let mut two = 0;
        while whole != 0 && whole % 1024 == 0 && two + 1 < BINARY.len() {
            whole /= 1024;
            two += 1;
        }
        let suffix = BINARY.get(two)?;
        let unchanged = self.mantissa == whole && BINARY.get(self.two as usize) == Some(suffix);
        (!unchanged || self.has_fraction).then(|| format!("{whole}{suffix}"))
    }

    fn without_binary(self) -> Option<i128> {
        self.mantissa.checked_mul(1024_i128.checked_pow(self.two)?)
    }
}

/// Digits without zeros at the end, at a power of ten that is a multiple of three; nothing finer than a thousandth.
fn canonical(mut digits: i128, mut power: i32) -> Option<(i128, i32)> {
    if digits == 0 {
        return Some((0, 0));
    }
    while digits % 10 == 0 {
        digits /= 10;
        power += 1;
    }
    while power < -3 {
        let up = i128::from(digits > 0 && digits % 10 != 0);
        digits = digits / 10 + up;
        power += 1;
    }
    while power.rem_euclid(3) != 0 || power > 18 {
        digits = digits.checked_mul(10)?;
        power -= 1;
    }
    // Rounding may have made new zeros.
    while digits % 1000 == 0 && digits != 0 && power < 18 {
        digits /= 1000;
        power += 3;
    }
    Some((digits, power))
}

/// The form, and the powers of 10 and of 1024 that a suffix multiplies by.
fn read_suffix(suffix: &str) -> Result<(Form, i32, u32), QuantityError> {
    if let Some((_, ten)) = DECIMAL.iter().find(|(known, _)| *known == suffix) {
        return Ok((Form::Decimal, *ten, 0));
    }
    if let Some((_, two)) = BINARY.iter().zip(0..).find(|(known, _)| **known == suffix) {
        return Ok((Form::Binary, 0, two));
    }
    let known = |letter: char| "eEinumkKMGTP+-".contains(letter) || letter.is_ascii_digit();
    match suffix.strip_prefix(['e', 'E']).map(str::parse) {
        Some(Ok(ten)) => Ok((Form::Exponent, ten, 0)),
        _ if suffix.chars().all(known) => Err(QuantityError::Suffix),
        _ => Err(QuantityError::Format),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("500m", Some(0.5))]
    #[case("2", Some(2.0))]
    #[case("1.5", Some(1.5))]
    #[case("-1", Some(-1.0))]
    #[case("1Ki", Some(1024.0))]
    #[case("1.5Gi", Some(1_610_612_736.0))]
    #[case("1e3", Some(1000.0))]
    #[case("2E", Some(2e18))]
    #[case("", None)]
    #[case("Gi", None)]
    #[case("1x", None)]
    #[case("1.-5", None)]
    fn quantity_has_approximate_number(#[case] text: &str, #[case] number: Option<f64>) {
        assert_eq!(
            Quantity::parse(text).ok().and_then(Quantity::approximate),
            number
        );
    }

    #[rstest]
    #[case("1", Some(1_000_000_000))]
    #[case("-500m", Some(-500_000_000))]
    #[case("1Ki", Some(1_024_000_000_000))]
    #[case("0.5Gi", Some(536_870_912_000_000_000))]
    #[case("1e3", Some(1_000_000_000_000))]
    #[case("1n", Some(1))]
    #[case("0.1n", Some(1))]
    #[case("-0.1n", Some(-1))]
    #[case("1.5n", Some(2))]
    #[case("1e-100", Some(1))]
    #[case("0e2147483647", Some(0))]
    #[case("1e2147483647", None)]
    #[case("99999999999999999999999999999999999999Ei", None)]
    #[case("x", None)]
    fn quantity_has_number_of_billionths(#[case] text: &str, #[case] amount: Option<i128>) {
        assert_eq!(Quantity::parse(text).ok().and_then(Quantity::nanos), amount);
    }

    /// As the quotas of a kube-apiserver were written.
    #[rstest]
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
    #[case("1e2147483647", "1e2147483647")]
    #[case("1e-2147483648", "1e-2147483648")]
    #[case("0.5Ki", "512")]
    #[case("1Ei", "1Ei")]
    #[case("0.3Ki", "307200m")]
    #[case("100000000000", "100G")]
    #[case("1.25Mi", "1280Ki")]
    #[case("1000Gi", "1000Gi")]
    fn quantities_are_written_as_kubernetes_writes_them(#[case] given: &str, #[case] kept: &str) {
        let again = Quantity::parse(given).map(Quantity::canonical);
        let again = again.map(|again| again.unwrap_or_else(|| given.to_owned()));
        assert_eq!(again.as_deref(), Ok(kept));
    }

    #[test]
    fn invalid_quantity_is_refused() {
        for given in ["", "x", "1.2.3", "true"] {
            assert_eq!(
                Quantity::parse(given),
                Err(QuantityError::Format),
                "{given}"
            );
        }
        for given in ["1000K", "1mm", "1e"] {
            assert_eq!(
                Quantity::parse(given),
                Err(QuantityError::Suffix),
                "{given}"
            );
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text in "[-+.0-9]{0,50}[a-zA-Z0-9+-]{0,12}") {
            if let Ok(quantity) = Quantity::parse(&text) {
                let _ = (quantity.approximate(), quantity.nanos(), quantity.canonical());
            }
        }
    }
}
