//! Points in time as session files spell them.

const MS_PER_SECOND: i64 = 1_000;
const MS_PER_MINUTE: i64 = 60 * MS_PER_SECOND;
const MS_PER_HOUR: i64 = 60 * MS_PER_MINUTE;
const MS_PER_DAY: i64 = 24 * MS_PER_HOUR;
/// The days of 400 years, after which the calendar repeats, and those between its day 0, 1 March of the year 0, and 1970.
const DAYS_PER_ERA: i64 = 146_097;
const DAYS_TO_1970: i64 = 719_468;

/// The milliseconds since 1970 of a time such as `2026-03-01T10:00:00.000Z`.
pub(crate) fn milliseconds(time: &str) -> Option<i64> {
    let (date, clock) = time.split_once(['T', ' '])?;
    let numbers = |text: &str, between: char| -> Option<[i64; 3]> {
        let numbers: Vec<i64> = text.split(between).map(|number| number.parse().ok()).collect::<Option<_>>()?;
        numbers.try_into().ok()
    };
    let [year, month, day] = numbers(date, '-')?;
    if !(0..=9_999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let (clock, zone) = clock.split_at(clock.find(['Z', '+', '-'])?);
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, ""));
    let [hours, minutes, seconds] = numbers(clock, ':')?;
    let fraction: i64 = format!("{fraction:0<3}").get(..3)?.parse().ok()?;
    let zone = match zone.split_once(':') {
        Some((hours, minutes)) => hours.parse::<i64>().ok()? * 60 + minutes.parse::<i64>().ok()? * sign(hours),
        None if zone == "Z" => 0,
        None => return None,
    };
    let in_day = |hours: i64, minutes: i64| hours * MS_PER_HOUR + minutes * MS_PER_MINUTE;
    let is_time = (0..24).contains(&hours) && (0..60).contains(&minutes) && (0..=60).contains(&seconds);
    let is_zone = zone.abs() < 24 * 60;
    (is_time && is_zone).then_some(())?;
    Some(days(year, month, day) * MS_PER_DAY + in_day(hours, minutes - zone) + seconds * MS_PER_SECOND + fraction)
}

fn sign(hours: &str) -> i64 {
    if hours.starts_with('-') { -1 } else { 1 }
}

/// The days since 1970 of a date. Years begin in March, so that a leap day comes last.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month > 2 { year } else { year - 1 };
    let (era, year) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * DAYS_PER_ERA + year * 365 + year / 4 - year / 100 + day_of_year - DAYS_TO_1970
}

/// A time in UTC, as JavaScript spells it; `None` outside the years of four digits.
pub(crate) fn in_utc(milliseconds: i64) -> Option<String> {
    let (day, of_day) = (milliseconds.div_euclid(MS_PER_DAY), milliseconds.rem_euclid(MS_PER_DAY));
    let day = day.checked_add(DAYS_TO_1970)?;
    let (era, day) = (day.div_euclid(DAYS_PER_ERA), day.rem_euclid(DAYS_PER_ERA));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (day, month) = (day - (153 * month + 2) / 5 + 1, (month + 2) % 12 + 1);
    let year = era * 400 + year + i64::from(month <= 2);
    let part = |unit: i64, of: i64| of_day / unit % of;
    (0..=9_999).contains(&year).then(|| {
        format!(
            "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{:03}Z",
            part(MS_PER_HOUR, 24),
            part(MS_PER_MINUTE, 60),
            part(MS_PER_SECOND, 60),
            part(1, MS_PER_SECOND)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_and_written_alike() {
        for (time, expected) in [
            ("1970-01-01T00:00:00.000Z", 0),
            ("2026-03-01T10:14:00.000Z", 1_772_360_040_000),
            ("2000-02-29T23:59:59.999Z", 951_868_799_999),
            ("1969-12-31T23:59:59.999Z", -1),
        ] {
            assert_eq!(milliseconds(time), Some(expected), "{time}");
            assert_eq!(in_utc(expected).as_deref(), Some(time));
        }
        for day in (-700_000..2_900_000).step_by(97) {
            let written = in_utc(day * MS_PER_DAY + 1);
            assert!(written.is_none_or(|written| milliseconds(&written) == Some(day * MS_PER_DAY + 1)), "{day}");
        }
        assert_eq!(milliseconds("2026-03-01T12:14:00+02:00"), milliseconds("2026-03-01T10:14:00Z"));
        assert_eq!(milliseconds("2026-03-01T08:44:00.1-01:30"), Some(1_772_360_040_100));
        for odd in ["t", "", "2026-03-01", "2026-13-01T10:14:00Z", "2026-03-01T10:14:00", "2026-03-01T10:14Z", "é-é"]
        {
            assert_eq!(milliseconds(odd), None, "{odd}");
        }
        assert_eq!((in_utc(i64::MAX), in_utc(i64::MIN)), (None, None));
    }
}
