//! Times in words, in UTC.

use std::time::Duration;

/// A time since the Unix epoch as RFC 3339 in UTC to the second: `2026-03-01T12:00:00Z`.
///
/// A date library would bring time zones and parsing to a place that only ever prints UTC;
/// days become dates with the proleptic Gregorian rules in whole eras of 400 years.
pub fn rfc3339(since_epoch: Duration) -> String {
    const DAYS_PER_ERA: u64 = 146_097;
    let seconds = since_epoch.as_secs();
    let (days, of_day) = (seconds / 86_400, seconds % 86_400);
    // Count from 0000-03-01: leap days then end a year, and months follow a fixed pattern.
    let shifted = days + 719_468;
    let (era, of_era) = (shifted / DAYS_PER_ERA, shifted % DAYS_PER_ERA);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    // March to July and August to December have 153 days each.
    let month_from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_from_march + 2) / 5 + 1;
    let (month, next_year) = match month_from_march {
        0..=9 => (month_from_march + 3, 0),
        _ => (month_from_march - 9, 1),
    };
    let year = era * 400 + year_of_era + next_year;
    let (hour, minute, second) = (of_day / 3_600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    //! Expected dates are those of `date -u -d @N +%FT%TZ`.

    use super::*;

    #[test]
    fn dates_agree_with_the_calendar() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_709_164_800, "2024-02-29T00:00:00Z"),
            (1_735_689_599, "2024-12-31T23:59:59Z"),
            (1_772_366_400, "2026-03-01T12:00:00Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
            (253_402_300_799, "9999-12-31T23:59:59Z"),
        ] {
            assert_eq!(rfc3339(Duration::from_secs(seconds)), text);
        }
        assert_eq!(
            rfc3339(Duration::from_millis(1_999)),
            "1970-01-01T00:00:01Z"
        );
    }

    #[test]
    fn consecutive_days_differ_by_one_day() {
        // Walks 400 years, a whole cycle of leap years, with the month lengths written out.
        let leap =
            |y: u64| (y.is_multiple_of(4) && !y.is_multiple_of(100)) || y.is_multiple_of(400);
        let mut days = 0;
        for year in 1970..2370 {
            let february = if leap(year) { 29 } else { 28 };
            let months = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
            for (month, length) in (1..).zip(months) {
                for day in 1..=length {
                    let text = rfc3339(Duration::from_secs(days * 86_400));
                    assert_eq!(text, format!("{year:04}-{month:02}-{day:02}T00:00:00Z"));
                    days += 1;
                }
            }
        }
    }
}
