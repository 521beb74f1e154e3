//! The size of text. The font is monospaced, so that the size is known without the font.

/// Pixels.
pub(super) const FONT_SIZE: f64 = 12.0;
/// Of a line.
pub(super) const LINE_HEIGHT: f64 = 16.0;
/// Of one character of normal width; common fonts have 0.6.
const CHARACTER_WIDTH: f64 = 0.61 * FONT_SIZE;

/// The width of a line: East Asian characters are two columns wide.
#[expect(clippy::cast_precision_loss, reason = "no line has 2^53 characters")]
pub(super) fn width(line: &str) -> f64 {
    let columns: usize = line.chars().map(|c| if matches!(c, '\u{1100}'..='\u{115f}' | '\u{2e80}'..='\u{a4cf}' | '\u{ac00}'..='\u{d7a3}' | '\u{f900}'..='\u{faff}' | '\u{fe30}'..='\u{fe6f}' | '\u{ff00}'..='\u{ff60}' | '\u{1f300}'..='\u{1faff}' | '\u{20000}'..='\u{3fffd}') { 2 } else { 1 }).sum();
    columns as f64 * CHARACTER_WIDTH
}

/// The width and height of some lines.
#[expect(clippy::cast_precision_loss, reason = "there are not 2^53 lines")]
pub(super) fn size<'a>(lines: impl IntoIterator<Item = &'a str>) -> (f64, f64) {
    let widths: Vec<f64> = lines.into_iter().map(width).collect();
    (widths.iter().copied().fold(0.0, f64::max), widths.len() as f64 * LINE_HEIGHT)
}
