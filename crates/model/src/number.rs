//! Numbers as a reader wants them: thousands separators, few significant digits, units.
//!
//! A value that is not finite has no text; callers show [`ABSENT`].

use crate::compare::Metric;
use crate::{Fps, LossRatio};

pub use crate::counted::plural;

/// Shown where nothing was measured.
pub const ABSENT: &str = "–";

/// The words for a number, if it is one.
fn finite(value: f64, words: impl Fn(f64) -> String) -> String {
    if value.is_finite() {
        words(value)
    } else {
        ABSENT.to_owned()
    }
}

/// Whole number with thousands separators: `1,488,095`.
pub fn grouped(value: f64) -> String {
    if !value.is_finite() {
        return ABSENT.to_owned();
    }
    let rounded = value.round();
    let digits = separated(&format!("{:.0}", rounded.abs()));
    if rounded < 0.0 {
        format!("-{digits}")
    } else {
        digits
    }
}

/// Decimal digits with thousands separators.
pub(crate) fn separated(digits: &str) -> String {
    let mut text = String::with_capacity(digits.len() * 4 / 3 + 1);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Count with thousands separators.
pub fn count(value: u64) -> String {
    // Counts stay far below 2^53, where f64 is exact.
    grouped(value as f64)
}

/// Three significant digits with a decimal prefix: `245 k`, `1.49 M`, `812`.
pub fn short(value: f64) -> String {
    if !value.is_finite() {
        return ABSENT.to_owned();
    }
    // Where three digits round up into the next prefix, they have it.
    let (unit, prefix) = prefix(rounded(value, 3));
    format!("{}{prefix}", significant(value / unit, 3))
}

/// `value` with `digits` significant digits, trailing zeros of a fraction kept.
pub fn significant(value: f64, digits: u8) -> String {
    if !value.is_finite() {
        return ABSENT.to_owned();
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    let kept = usize::from(digits.saturating_sub(1));
    // The exponent after rounding: 9.996 with three digits is 10.0, not 10.00.
    let scientific = format!("{value:.kept$e}");
    let exponent = scientific
        .split_once('e')
        .and_then(|(_, exponent)| exponent.parse::<i32>().ok())
        .unwrap_or(0);
    let decimals = (i32::from(digits) - 1 - exponent).clamp(0, 12) as usize;
    format!("{value:.decimals$}")
}

/// `value` rounded to `digits` significant digits.
pub fn rounded(value: f64, digits: u8) -> f64 {
    let kept = usize::from(digits.saturating_sub(1));
    format!("{value:.kept$e}").parse().unwrap_or(value)
}

/// Significant digits of a number, and most of those of the ends of its interval.
const MOST_DIGITS: u8 = 4;

/// Power of ten of the last digit that the ends of an interval are worth: a quarter of its width
/// or less, so that rounding moves an end by an eighth of it at most.
fn last_place((low, high): (f64, f64)) -> i32 {
    let first = high.abs().log10().floor();
    let worth = ((high - low).abs() / 4.0).log10().floor();
    // An interval without width would be worth any number of digits.
    worth.clamp(first - f64::from(MOST_DIGITS - 1), first) as i32
}

/// Significant digits that an interval allows its number: as far down as its ends go, or where
/// these have one or two digits, one place further.
pub fn digits(value: f64, ends: (f64, f64)) -> u8 {
    let first = value.abs().log10().floor() as i32;
    let digits = first.saturating_sub(last_place(ends)).saturating_add(1);
    let digits = if digits < 3 { digits + 1 } else { digits };
    digits.clamp(1, i32::from(MOST_DIGITS)) as u8
}

/// Decimal prefix for a number, and what it stands for.
fn prefix(value: f64) -> (f64, &'static str) {
    match value.abs() {
        v if v >= 1e9 => (1e9, " G"),
        v if v >= 1e6 => (1e6, " M"),
        v if v >= 1e3 => (1e3, " k"),
        _ => (1.0, ""),
    }
}

/// A number with the digits that its interval allows: `785 k`.
pub fn within(value: f64, ends: (f64, f64)) -> String {
    if !value.is_finite() || value == 0.0 {
        return short(value);
    }
    let digits = digits(value, ends);
    let rounded = rounded(value, digits);
    let (unit, prefix) = prefix(rounded);
    format!("{}{prefix}", significant(rounded / unit, digits))
}

/// The first few of some, and how many more: `a, b and 3 more`.
pub fn first_few(all: &[String], few: usize, between: &str) -> String {
    let named = all[..all.len().min(few)].join(between);
    match all.len().saturating_sub(few) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

/// An interval with one unit and the digits that its width deserves: `760–810 k`.
pub fn interval((low, high): (f64, f64)) -> String {
    if !low.is_finite() || !high.is_finite() {
        return ABSENT.to_owned();
    }
    if high == 0.0 {
        return "0".to_owned();
    }
    let place = last_place((low, high));
    let step = 10_f64.powi(place);
    let [low, high] = [low, high].map(|end| (end / step).round() * step);
    let (unit, prefix) = prefix(high);
    // The places of the unit are a multiple of three.
    let decimals = (unit.log10().round() as i32 - place).max(0) as usize;
    let [low, high] = [low, high].map(|end| format!("{:.decimals$}", end / unit));
    if low == high {
        format!("{high}{prefix}")
    } else {
        format!("{low}–{high}{prefix}")
    }
}

/// A rate in any unit: thousands separators, under 100 three significant digits.
pub fn rate(value: f64) -> String {
    if value.abs() < 99.95 {
        significant(value, 3)
    } else {
        grouped(value)
    }
}

/// A value of what runs are compared by, without its unit.
pub fn of_metric(metric: Metric, value: f64) -> String {
    match metric {
        Metric::Throughput => rate(value),
        Metric::LatencyP50 | Metric::LatencyP99 => micros(value),
        Metric::Cpu => significant(value, 3),
    }
}

/// Frames per second with thousands separators, or [`ABSENT`].
pub fn fps(value: Option<f64>) -> String {
    value.map_or_else(|| ABSENT.to_owned(), grouped)
}

/// Rate in Mbit/s as a bare number in three digits, under 100 one decimal: `1,780`, `164`, `31.0`.
pub fn mbps(value: Option<f64>) -> String {
    match value {
        Some(v) if v.is_finite() && v.abs() < 99.95 => format!("{v:.1}"),
        Some(v) => grouped(rounded(v, 3)),
        None => ABSENT.to_owned(),
    }
}

/// Rate in Mbit/s or Gbit/s with its unit: `165 Mbit/s`, `1.02 Gbit/s`.
pub fn bit_rate(value: f64) -> String {
    finite(value, |value| {
        if value.abs() >= 999.5 {
            format!("{} Gbit/s", significant(value / 1000.0, 3))
        } else {
            format!("{} Mbit/s", significant(value, 3))
        }
    })
}

/// Frames per second in three digits with their unit: `208 k frames/s`.
pub fn frames_per_s(Fps(fps): Fps) -> String {
    let number = if fps.abs() < 999.5 {
        // Parts of a frame say nothing.
        grouped(fps)
    } else {
        short(fps)
    };
    format!("{number} frames/s")
}

/// Loss ratio in per cent with two significant digits: `0.0020 %`; zero is `0 %`.
pub fn loss(ratio: f64) -> String {
    finite(ratio, |ratio| {
        format!("{} %", significant(ratio * 100.0, 2))
    })
}

/// As [`loss`].
pub fn loss_ratio(LossRatio(ratio): LossRatio) -> String {
    loss(ratio)
}

/// Share in whole per cent: `99 %`.
pub fn share(ratio: f64) -> String {
    finite(ratio, |ratio| format!("{:.0} %", ratio * 100.0))
}

/// Coefficient of variation or drift in per cent with one decimal: `0.4 %`.
pub fn variation(ratio: f64) -> String {
    finite(ratio, |ratio| format!("{:.1} %", ratio * 100.0))
}

/// A ratio as a change: `-6.1 %`, `+0.4 %`; from twice or half on as a factor: `x 3.10`.
pub fn change(ratio: f64) -> String {
    if !ratio.is_finite() {
        return ABSENT.to_owned();
    }
    if (0.5..2.0).contains(&ratio) {
        let percent = (ratio - 1.0) * 100.0;
        if percent.abs() < 0.05 {
            // No sign before a change that rounds to zero.
            "0.0 %".to_owned()
        } else {
            format!("{percent:+.1} %")
        }
    } else {
        format!("x {}", significant(ratio, 3))
    }
}

/// Microseconds as a bare number: `9.0`, `31`, `1,240`.
pub fn micros(value: f64) -> String {
    if value.is_finite() && value.abs() < 9.95 {
        format!("{value:.1}")
    } else {
        grouped(value)
    }
}

/// Seconds in words: `24.3 s`, `4 min 05 s`, `1 h 02 min`.
pub fn seconds(value: f64) -> String {
    if !value.is_finite() || value < 0.0 {
        return ABSENT.to_owned();
    }
    if value < 99.95 {
        return format!("{value:.1} s");
    }
    let whole = value.round() as u64;
    if whole < 3600 {
        format!("{} min {:02} s", whole / 60, whole % 60)
    } else {
        format!("{} h {:02} min", whole / 3600, whole % 3600 / 60)
    }
}

/// Bytes as people read them: `1.20 GB`.
pub fn bytes(bytes: f64) -> String {
    let units = [
        (1e15, "PB"),
        (1e12, "TB"),
        (1e9, "GB"),
        (1e6, "MB"),
        (1e3, "kB"),
    ];
    let unit = units.iter().find(|(size, _)| bytes >= 0.9995 * size);
    match unit {
        Some((size, unit)) => format!("{} {unit}", significant(bytes / size, 3)),
        None => format!("{bytes:.0} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_in_words() {
        for (number, words) in [
            (0.0, "0 B"),
            (999.0, "999 B"),
            (1_234.0, "1.23 kB"),
            (999_900.0, "1.00 MB"),
            (4.2e12, "4.20 TB"),
        ] {
            assert_eq!(bytes(number), words);
        }
    }

    #[test]
    fn thousands_are_separated() {
        for (value, text) in [
            (0.0, "0"),
            (-0.2, "0"),
            (999.4, "999"),
            (999.6, "1,000"),
            (245_000.0, "245,000"),
            (1_488_095.2, "1,488,095"),
            (-12_345.0, "-12,345"),
            (f64::NAN, ABSENT),
            (f64::INFINITY, ABSENT),
        ] {
            assert_eq!(grouped(value), text, "{value}");
        }
    }

    #[test]
    fn rates_have_three_digits_and_their_unit() {
        for (fps, text) in [
            (0.0, "0 frames/s"),
            (7.2, "7 frames/s"),
            (812.4, "812 frames/s"),
            (4_296.0, "4.30 k frames/s"),
            (207_917.0, "208 k frames/s"),
            (999_700.0, "1.00 M frames/s"),
            (14_880_952.0, "14.9 M frames/s"),
        ] {
            assert_eq!(frames_per_s(Fps(fps)), text);
        }
        assert_eq!(loss_ratio(LossRatio(0.003_112)), "0.31 %");
        assert_eq!(mbps(Some(1782.4)), "1,780");
    }

    #[test]
    fn short_numbers_keep_three_digits() {
        for (value, text) in [
            (0.0, "0"),
            (7.0, "7.00"),
            (812.0, "812"),
            (999.7, "1.00 k"),
            (9_996.0, "10.0 k"),
            (81_234.0, "81.2 k"),
            (245_000.0, "245 k"),
            (999_700.0, "1.00 M"),
            (14_880_952.0, "14.9 M"),
            (2.5e9, "2.50 G"),
        ] {
            assert_eq!(short(value), text, "{value}");
        }
    }

    #[test]
    fn intervals_have_one_unit_and_the_digits_they_deserve() {
        for (low, high, text) in [
            (762_100.0, 811_400.0, "760–810 k"),
            (660_400.0, 909_800.0, "660–910 k"),
            (301_000.0, 899_000.0, "300–900 k"),
            (184_210.0, 186_950.0, "184.2–187.0 k"),
            (785_100.0, 785_101.0, "785.1 k"),
            (985_000.0, 1_021_000.0, "0.985–1.021 M"),
            (940_000.0, 1_060_000.0, "0.94–1.06 M"),
            (96_000.0, 999_700.0, "0.1–1.0 M"),
            (0.0, 4_300.0, "0–4 k"),
            (0.0, 0.0, "0"),
            (412.0, 448.0, "412–448"),
            (8_960.0, 9_040.0, "8.96–9.04 k"),
            (2.31e9, 2.44e9, "2.31–2.44 G"),
            (f64::NAN, 1.0, ABSENT),
            (1.0, f64::INFINITY, ABSENT),
        ] {
            assert_eq!(interval((low, high)), text, "{low} {high}");
        }
    }

    #[test]
    fn numbers_have_no_more_digits_than_their_interval_allows() {
        for (value, ends, text) in [
            (785_432.0, (762_100.0, 811_400.0), "785 k"),
            (785_432.0, (660_400.0, 909_800.0), "785 k"),
            (562_900.0, (301_000.0, 899_000.0), "560 k"),
            (785_432.0, (785_400.0, 785_480.0), "785.4 k"),
            (999_960.0, (985_000.0, 1_021_000.0), "1.00 M"),
            (412.4, (380.0, 424.0), "412"),
            (150.0, (0.0, 2_000.0), "150"),
            (609_800.0, (604_100.0, 618_200.0), "610 k"),
            (0.0, (0.0, 0.0), "0"),
            (f64::NAN, (0.0, 1.0), ABSENT),
        ] {
            assert_eq!(within(value, ends), text, "{value}");
        }
        assert_eq!(rounded(376.4, 2), 380.0);
        assert_eq!(rounded(f64::INFINITY, 2), f64::INFINITY);
    }

    #[test]
    fn changes_have_a_sign_or_are_factors() {
        for (value, text) in [
            (1.0, "0.0 %"),
            (0.9999, "0.0 %"),
            (0.939, "-6.1 %"),
            (1.004, "+0.4 %"),
            (3.1, "x 3.10"),
            (0.25, "x 0.250"),
            (f64::NAN, ABSENT),
        ] {
            assert_eq!(change(value), text, "{value}");
        }
    }

    #[test]
    fn loss_keeps_small_values_apart_from_zero() {
        for (value, text) in [
            (0.0, "0 %"),
            (0.000_02, "0.0020 %"),
            (0.000_1, "0.010 %"),
            (1e-9, "0.00000010 %"),
            (0.5, "50 %"),
            (1.0, "100 %"),
            (f64::NAN, ABSENT),
        ] {
            assert_eq!(loss(value), text, "{value}");
        }
    }

    #[test]
    fn times_and_rates_carry_their_unit() {
        assert_eq!(seconds(24.31), "24.3 s");
        assert_eq!(seconds(245.0), "4 min 05 s");
        assert_eq!(seconds(3725.0), "1 h 02 min");
        assert_eq!(seconds(f64::NAN), ABSENT);
        assert_eq!(bit_rate(164.64), "165 Mbit/s");
        assert_eq!(bit_rate(1024.0), "1.02 Gbit/s");
        assert_eq!(bit_rate(999.7), "1.00 Gbit/s");
        assert_eq!(mbps(Some(99.97)), "100");
        assert_eq!(mbps(Some(9.55)), "9.6");
        assert_eq!(micros(9.04), "9.0");
        assert_eq!(micros(1240.0), "1,240");
    }
}
