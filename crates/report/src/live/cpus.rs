//! A meter for each CPU.

use nicety_model::CoreUse;
use ratatui_core::text::{Line, Span};

use super::look::{Look, Tone};

/// Narrowest meter, with its label and its percentage.
const METER: usize = 18;
/// Widest meter.
const WIDEST: usize = 40;

/// Meters, as many in a line as fit; where there are more than fill `lines`, of the busiest.
pub fn meters(cores: &[CoreUse], width: usize, lines: usize, look: Look) -> Vec<Line<'static>> {
    let columns = (width / (METER + 2)).clamp(1, cores.len().max(1));
    let wide = ((width + 2) / columns).saturating_sub(2).min(WIDEST);
    let mut shown: Vec<&CoreUse> = cores.iter().collect();
    if shown.len() > columns * lines {
        shown.sort_by(|a, b| b.busy().total_cmp(&a.busy()));
        shown.truncate(columns * lines);
        shown.sort_by_key(|core| core.cpu);
    }
    shown
        .chunks(columns)
        .map(|cores| {
            let drawn: Vec<Vec<Span<'static>>> =
                cores.iter().map(|core| meter(core, wide, look)).collect();
            Line::from(drawn.join(&Span::raw("  ")))
        })
        .collect()
}

/// Programs and the kernel, then interrupts, then what the hypervisor took.
fn meter(core: &CoreUse, width: usize, look: Look) -> Vec<Span<'static>> {
    let label = format!("CPU{:<3} ", core.cpu);
    let share = format!("{:>4.0} %", core.busy() * 100.0);
    let bar = width.saturating_sub(label.len() + share.len());
    let mut spans = vec![Span::raw(label)];
    let (mut until, mut filled) = (0.0, 0);
    for (share, tone) in [
        (core.user + core.system, Tone::Good),
        (core.irq + core.softirq, Tone::Doubtful),
        (core.steal, Tone::Bad),
    ] {
        until += share.clamp(0.0, 1.0);
        let to = ((until * bar as f64).round() as usize).clamp(filled, bar);
        spans.push(Span::styled(
            look.full().repeat(to - filled),
            look.style(tone),
        ));
        filled = to;
    }
    let rest = look.empty().repeat(bar - filled);
    spans.push(Span::styled(rest, look.style(Tone::Dim)));
    spans.push(Span::raw(share));
    spans
}
