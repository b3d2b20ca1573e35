//! Arithmetic on whole numbers and on decimal numbers.

use super::cast::{to_float, to_int};
use super::decimal::Decimal;
use crate::function::Parameter::{Any, Float, Int};
use crate::function::{Arguments, Env, Failure, Function};
use crate::functions::define::{Answer, Group, charge_items, charge_value, takes, takes_more};
use reeve_go_compat::printing;
use reeve_go_compat::strconv::{ldexp, parse_int};
use reeve_go_compat::value::Value;

const WHOLE: Group = Group("Whole numbers");
const DECIMAL: Group = Group("Decimal numbers");

/// The table of whole numbers.
pub const FUNCTIONS: &[Function] = &[
    WHOLE.function("int", takes(&[Any]), int, "value", "The value as a number of type `int`: text is parsed, fractions are cut, and what is no number is 0."),
    WHOLE.function("int64", takes(&[Any]), int64, "value", "Like `int`, of type `int64`."),
    WHOLE.function("toDecimal", takes(&[Any]), to_decimal, "value", "Reads the value's digits as an octal number, such as a file mode. What is none is 0."),
    WHOLE.function("add", takes_more(&[], Any), add, "number...", "The sum, of type `int64`. Every argument is cast as by `int`."),
    WHOLE.function("add1", takes(&[Any]), add1, "number", "The number plus one."),
    WHOLE.function("sub", takes(&[Any, Any]), sub, "number other", "The number less the other."),
    WHOLE.function("mul", takes_more(&[Any], Any), mul, "number...", "The product."),
    WHOLE.function("div", takes(&[Any, Any]), div, "number divisor", "The whole quotient, cut towards zero. Dividing by zero is an error."),
    WHOLE.function("mod", takes(&[Any, Any]), modulo, "number divisor", "The remainder of `div`. It has the sign of the number."),
    WHOLE.function("max", takes_more(&[Any], Any), max, "number...", "The greatest of the numbers."),
    WHOLE.function("biggest", takes_more(&[Any], Any), max, "number...", "The older name of `max`."),
    WHOLE.function("min", takes_more(&[Any], Any), min, "number...", "The least of the numbers."),
];

/// The table of decimal numbers.
pub const DECIMAL_FUNCTIONS: &[Function] = &[
    DECIMAL.function("float64", takes(&[Any]), float64, "value", "The value as a number of type `float64`. What is no number is 0."),
    DECIMAL.function("addf", takes_more(&[], Any), addf, "number...", "The sum, calculated in decimal arithmetic: `addf 0.1 0.2` is exactly 0.3."),
    DECIMAL.function("add1f", takes(&[Any]), add1f, "number", "The number plus one, in decimal arithmetic."),
    DECIMAL.function("subf", takes_more(&[Any], Any), subf, "number other...", "The number less all the others, in decimal arithmetic."),
    DECIMAL.function("mulf", takes_more(&[Any], Any), mulf, "number...", "The product, in decimal arithmetic."),
    DECIMAL.function("divf", takes_more(&[Any], Any), divf, "number divisor...", "The number divided by all the others in turn, to 16 decimal places. Dividing by zero is an error."),
    DECIMAL.function("maxf", takes_more(&[Any], Any), maxf, "number...", "The greatest of the numbers."),
    DECIMAL.function("minf", takes_more(&[Any], Any), minf, "number...", "The least of the numbers."),
    DECIMAL.function("ceil", takes(&[Any]), ceil, "number", "The least whole number that is not less, of type `float64`."),
    DECIMAL.function("floor", takes(&[Any]), floor, "number", "The greatest whole number that is not greater, of type `float64`."),
    DECIMAL.function("round", takes_more(&[Any, Int], Float), round, "number places [on]", "The number rounded to this many places, up from a fraction of 0.5 or of what is given."),
];

fn int(_: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    Ok(Value::Int(to_int(arguments.any(0))))
}

fn int64(_: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    Ok(Value::Int64(to_int(arguments.any(0))))
}

fn to_decimal(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    charge_value(env, arguments.any(0))?;
    let text = printing::display(arguments.any(0));
    let number = std::str::from_utf8(&text)
        .ok()
        .and_then(|text| parse_int(text, 8));
    Ok(Value::Int64(number.unwrap_or(0)))
}

fn fold(
    env: &mut Env<'_>,
    arguments: &Arguments<'_>,
    start: i64,
    from: usize,
    step: impl Fn(i64, i64) -> i64,
) -> Answer {
    let rest = arguments.from(from);
    charge_items(env, rest.len())?;
    Ok(Value::Int64(rest.iter().map(to_int).fold(start, step)))
}

fn add(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    fold(env, arguments, 0, 0, i64::wrapping_add)
}

fn add1(_: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    Ok(Value::Int64(to_int(arguments.any(0)).wrapping_add(1)))
}

fn sub(_: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let (number, other) = (to_int(arguments.any(0)), to_int(arguments.any(1)));
    Ok(Value::Int64(number.wrapping_sub(other)))
}

fn mul(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let first = to_int(arguments.any(0));
    fold(env, arguments, first, 1, i64::wrapping_mul)
}

fn divided(arguments: &Arguments<'_>, divide: impl Fn(i64, i64) -> i64) -> Answer {
    let (number, divisor) = (to_int(arguments.any(0)), to_int(arguments.any(1)));
    if divisor == 0 {
        return Err(Failure::text("runtime error: integer divide by zero"));
    }
    Ok(Value::Int64(divide(number, divisor)))
}

fn div(_: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    divided(arguments, i64::wrapping_div)
}

fn modulo(_: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    divided(arguments, i64::wrapping_rem)
}

fn max(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let first = to_int(arguments.any(0));
    fold(env, arguments, first, 1, i64::max)
}

fn min(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let first = to_int(arguments.any(0));
    fold(env, arguments, first, 1, i64::min)
}

fn float64(_: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    Ok(Value::Float(to_float(arguments.any(0))))
}

type Operation = fn(Decimal, &Decimal, &mut Env<'_>) -> Result<Decimal, Failure>;

fn calculate(env: &mut Env<'_>, first: f64, rest: &[Value], operation: Operation) -> Answer {
    let mut result = Decimal::from_float(first)?;
    for value in rest {
        let operand = Decimal::from_float(to_float(value))?;
        result = operation(result, &operand, env)?;
    }
    Ok(Value::Float(result.to_float()))
}

fn addf(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    calculate(env, 0.0, arguments.all(), Decimal::add)
}

fn add1f(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let first = to_float(arguments.any(0));
    calculate(env, first, &[Value::Int(1)], Decimal::add)
}

fn subf(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let first = to_float(arguments.any(0));
    calculate(env, first, arguments.from(1), Decimal::sub)
}

fn mulf(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let first = to_float(arguments.any(0));
    calculate(env, first, arguments.from(1), Decimal::mul)
}

fn divf(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let first = to_float(arguments.any(0));
    calculate(env, first, arguments.from(1), Decimal::div)
}

/// `math.Max`: infinity first, then NaN; +0 is greater than -0.
fn greater(a: f64, b: f64) -> f64 {
    if a == f64::INFINITY || b == f64::INFINITY {
        f64::INFINITY
    } else if a.is_nan() || b.is_nan() {
        f64::NAN
    } else if a == 0.0 && b == 0.0 {
        if a.is_sign_negative() { b } else { a }
    } else {
        a.max(b)
    }
}

fn maxf(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    charge_items(env, arguments.len())?;
    let first = to_float(arguments.any(0));
    let rest = arguments.from(1).iter().map(to_float);
    Ok(Value::Float(rest.fold(first, greater)))
}

fn minf(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    charge_items(env, arguments.len())?;
    let first = to_float(arguments.any(0));
    let rest = arguments.from(1).iter().map(to_float);
    Ok(Value::Float(rest.fold(first, |a, b| -greater(-a, -b))))
}

fn ceil(_: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    Ok(Value::Float(to_float(arguments.any(0)).ceil()))
}

fn floor(_: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    Ok(Value::Float(to_float(arguments.any(0)).floor()))
}

fn round(_: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let on = match arguments.any(2) {
        Value::Float(on) => *on,
        _ => 0.5,
    };
    let power = power_of_ten(arguments.int(1)?);
    let shifted = power * to_float(arguments.any(0));
    let fraction = shifted - shifted.trunc();
    let rounded = if fraction >= on {
        shifted.ceil()
    } else {
        shifted.floor()
    };
    Ok(Value::Float(rounded / power))
}

/// `math.Pow(10, exponent)` with the rounding of Go's own algorithm: squaring a fraction and its
/// binary exponent apart.
fn power_of_ten(exponent: i64) -> f64 {
    let mut result = 1.0;
    let mut result_exponent = 0;
    let mut square = 0.625;
    let mut square_exponent = 4;
    let mut left = exponent.unsigned_abs();
    while left != 0 {
        if square_exponent > 1 << 12 {
            result_exponent += square_exponent;
            break;
        }
        if left & 1 == 1 {
            result *= square;
            result_exponent += square_exponent;
        }
        square *= square;
        square_exponent <<= 1;
        if square < 0.5 {
            square += square;
            square_exponent -= 1;
        }
        left >>= 1;
    }
    if exponent < 0 {
        result = 1.0 / result;
        result_exponent = -result_exponent;
    }
    ldexp(result, result_exponent)
}
