//! Kubernetes quantities (`500m`, `2Gi`, `1e3`) as `k8s.io/apimachinery/pkg/api/resource` reads them.

/// An amount: `mantissa * 10^ten * 1024^two`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantity {
    mantissa: i128,
    ten: i32,
    two: u32,
}

impl Quantity {
    /// Reads a quantity; `None` for other text, and for digits that do not fit 127 bits.
    pub fn parse(text: &str) -> Option<Self> {
        let is_number = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'+' | b'-');
        let end = text
            .bytes()
            .position(|byte| !is_number(byte))
            .unwrap_or(text.len());
        let (number, suffix) = text.split_at_checked(end)?;
        let (mantissa, fraction_digits) = decimal(number)?;
        let (ten, two) = scale(suffix)?;
        Some(Self {
            mantissa,
            ten: ten.checked_sub(fraction_digits)?,
            two,
        })
    }

    /// `Quantity.AsApproximateFloat64`, with the same last bits; `None` if the amount without its
    /// power of ten does not fit 127 bits.
    pub fn approximate(self) -> Option<f64> {
        let mantissa = self
            .mantissa
            .checked_mul(1024_i128.checked_pow(self.two)?)?;
        #[allow(clippy::cast_precision_loss)] // upstream rounds here, too
        let base = mantissa as f64;
        Some(if self.ten == 0 {
            base
        } else {
            base * 10_f64.powi(self.ten)
        })
    }
}

/// The powers of 10 and of 1024 that a suffix multiplies by.
fn scale(suffix: &str) -> Option<(i32, u32)> {
    Some(match suffix {
        "" => (0, 0),
        "n" => (-9, 0),
        "u" => (-6, 0),
        "m" => (-3, 0),
        "k" => (3, 0),
        "M" => (6, 0),
        "G" => (9, 0),
        "T" => (12, 0),
        "P" => (15, 0),
        "E" => (18, 0),
        "Ki" => (0, 1),
        "Mi" => (0, 2),
        "Gi" => (0, 3),
        "Ti" => (0, 4),
        "Pi" => (0, 5),
        "Ei" => (0, 6),
        other => (other.strip_prefix(['e', 'E'])?.parse().ok()?, 0),
    })
}

/// The digits of a decimal number, and how many of them follow the point.
fn decimal(text: &str) -> Option<(i128, i32)> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if fraction.contains(['+', '-']) || !text.bytes().any(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let mantissa = format!("{whole}{fraction}").parse().ok()?;
    Some((mantissa, i32::try_from(fraction.len()).ok()?))
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
            Quantity::parse(text).and_then(Quantity::approximate),
            number
        );
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text in "[-+.0-9]{0,50}[a-zA-Z0-9+-]{0,12}") {
            let _ = Quantity::parse(&text).map(Quantity::approximate);
        }
    }
}
