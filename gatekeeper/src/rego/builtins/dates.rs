//! Calendar arithmetic as Go does it: what is beyond the end of a month goes on in the next one.

use regorus::Value;

const DAY: i128 = 86_400_000_000_000;

/// `time.add_date`: nanoseconds, years, months, days.
#[allow(clippy::unnecessary_wraps)] // the functions have one signature
pub fn add(args: &[Value]) -> anyhow::Result<Value> {
    let whole = |index: usize| args.get(index).and_then(|value| value.as_i64().ok());
    let all = (whole(0), whole(1), whole(2), whole(3));
    let (Some(start), Some(years), Some(months), Some(days)) = all else {
        return Ok(Value::Undefined);
    };
    Ok(added(start, years, months, days).map_or(Value::Undefined, Value::from))
}

fn added(start: i64, years: i64, months: i64, days: i64) -> Option<i64> {
    let (date, rest) = (
        i128::from(start).div_euclid(DAY),
        i128::from(start).rem_euclid(DAY),
    );
    let (year, month, day) = civil(i64::try_from(date).ok()?);
    let month = year
        .checked_add(years)?
        .checked_mul(12)?
        .checked_add(month - 1)?
        .checked_add(months)?;
    let first = days_of(month.div_euclid(12), month.rem_euclid(12) + 1)?;
    let date = first.checked_add(day - 1)?.checked_add(days)?;
    i64::try_from(i128::from(date).checked_mul(DAY)?.checked_add(rest)?).ok()
}

/// The year, month and day of a number of days since 1970.
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

/// The days from 1970 to the first of a month.
fn days_of(year: i64, month: i64) -> Option<i64> {
    let year = year.checked_sub(i64::from(month <= 2))?;
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let shifted = (month + 9) % 12;
    let of_year = (153 * shifted + 2) / 5;
    let of_era = of_era * 365 + of_era / 4 - of_era / 100 + of_year;
    era.checked_mul(146_097)?
        .checked_add(of_era)?
        .checked_sub(719_468)
}
