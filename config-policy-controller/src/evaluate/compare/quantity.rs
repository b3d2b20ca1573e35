//! Kubernetes quantities (`500m`, `1Gi`, `1e3`): parsed far enough to compare amounts.
//!
//! Source of the format: `k8s.io/apimachinery/pkg/api/resource`.

/// How many decimal places a quantity keeps; smaller amounts are rounded away from zero.
const NANO_PLACES: i32 = 9;

/// An amount in units of 10⁻⁹.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Amount {
    /// An exact amount.
    Nanos(i128),
    /// Beyond what 127 bits hold: only equal to itself, written the same way.
    Huge(String),
}

/// A parsed quantity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quantity(Amount);

impl Quantity {
    /// Reads a quantity; `None` when the text is not one.
    ///
    /// Kubernetes also takes a bare suffix or sign (`k`, `+`) for zero. Such texts are words to
    /// everybody else, so here at least one digit is needed.
    pub fn parse(text: &str) -> Option<Self> {
        let (negative, unsigned) = match text.as_bytes().first()? {
            b'-' => (true, text.get(1..)?),
            b'+' => (false, text.get(1..)?),
            _ => (false, text),
        };
        let (whole, rest) = split_digits(unsigned);
        let (fraction, suffix) = match rest.strip_prefix('.') {
            Some(after_point) => split_digits(after_point),
            None => ("", rest),
        };
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let scale = Scale::parse(suffix)?;
        let amount = nanos(whole, fraction, scale).map_or_else(
            || Amount::Huge(text.to_owned()),
            |nanos| Amount::Nanos(if negative { -nanos } else { nanos }),
        );
        Some(Self(amount))
    }
}

/// Whether both texts are quantities of the same amount.
pub fn same_amount(a: &str, b: &str) -> bool {
    Quantity::parse(a).is_some_and(|a| Quantity::parse(b) == Some(a))
}

fn split_digits(text: &str) -> (&str, &str) {
    let end = text.bytes().position(|byte| !byte.is_ascii_digit());
    text.split_at(end.unwrap_or(text.len()))
}

/// What a suffix multiplies by: 10^`ten` * 2^`two`.
#[derive(Debug, Clone, Copy)]
struct Scale {
    ten: i32,
    two: u32,
}

impl Scale {
    fn parse(suffix: &str) -> Option<Self> {
        let ten = |ten| Some(Self { ten, two: 0 });
        let two = |two| Some(Self { ten: 0, two });
        match suffix {
            "n" => ten(-9),
            "u" => ten(-6),
            "m" => ten(-3),
            "" => ten(0),
            "k" => ten(3),
            "M" => ten(6),
            "G" => ten(9),
            "T" => ten(12),
            "P" => ten(15),
            "E" => ten(18),
            "Ki" => two(10),
            "Mi" => two(20),
            "Gi" => two(30),
            "Ti" => two(40),
            "Pi" => two(50),
            "Ei" => two(60),
            _ => {
                let exponent = suffix.strip_prefix(['e', 'E'])?;
                exponent.parse().ok().and_then(ten)
            }
        }
    }
}

/// The amount in nanos, or `None` when it does not fit.
fn nanos(whole: &str, fraction: &str, scale: Scale) -> Option<i128> {
    let digits = format!("{whole}{fraction}");
    let digits = digits.trim_start_matches('0');
    if digits.is_empty() {
        return Some(0);
    }
    let shift = scale
        .ten
        .checked_add(NANO_PLACES)?
        .checked_sub(i32::try_from(fraction.len()).ok()?)?;
    let mantissa = digits
        .parse::<i128>()
        .ok()?
        .checked_mul(1i128.checked_shl(scale.two)?)?;
    let Some(power) = 10i128.checked_pow(shift.unsigned_abs()) else {
        // Far below a billionth: whatever is left is rounded up to the smallest amount.
        return (shift < 0).then_some(1);
    };
    if shift >= 0 {
        mantissa.checked_mul(power)
    } else {
        Some(mantissa.div_euclid(power) + i128::from(mantissa.rem_euclid(power) != 0))
    }
}
