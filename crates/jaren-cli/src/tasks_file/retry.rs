//! `retry` of a task: how often a command is executed, how long it is waited in between, and after which failures.

use std::time::Duration;

use jaren::engine::RetryPolicy;
use toml::Spanned;
use toml::de::DeValue;

use super::Reader;

/// How often a command may be executed for one answer.
const ATTEMPTS_MAX: u32 = 1000;
/// The pauses of a policy that names none: half a second at first, at most eight.
const FIRST_DEFAULT: Duration = Duration::from_millis(500);
const MOST_DEFAULT: Duration = Duration::from_secs(8);
/// The longest pause that can be asked for.
const PAUSE_MAX: Duration = Duration::from_hours(24);

impl Reader<'_> {
    /// `{ attempts = 3, first = "500ms", most = "8s", codes = ["command-timeout"] }`: all but `attempts` may be missing.
    pub(super) fn retry(&mut self, value: &Spanned<DeValue<'_>>) -> Option<RetryPolicy> {
        let table = self.table(value, "retry")?;
        let (mut attempts, mut first, mut most, mut codes) = (None, None, None, None);
        for (member, value) in table {
            match member.get_ref().as_ref() {
                "attempts" => attempts = Some(self.attempts(value)),
                "first" => first = Some(self.duration(value, "first", PAUSE_MAX)),
                "most" => most = Some(self.duration(value, "most", PAUSE_MAX)),
                "codes" => codes = self.codes(value),
                other => self.refuse(
                    member.span(),
                    format!("unknown member {other:?}"),
                    "retry has attempts, first, most and codes",
                ),
            }
        }
        let first = first.unwrap_or_else(|| most.map_or(FIRST_DEFAULT, |most| most.min(FIRST_DEFAULT)));
        let most = most.unwrap_or_else(|| first.max(MOST_DEFAULT));
        if most < first {
            let help = "make most at least as long as first, or leave it away";
            self.refuse(value.span(), "the longest pause is shorter than the first one", help);
        }
        if attempts.is_none() {
            self.refuse(
                value.span(),
                "retry has no attempts",
                "add attempts = 3, how often it is executed at most",
            );
        }
        let policy = RetryPolicy::times(attempts??.saturating_sub(1)).with_backoff(first, most);
        Some(match codes {
            Some(codes) => policy.only_codes(codes),
            None => policy,
        })
    }

    fn attempts(&mut self, value: &Spanned<DeValue<'_>>) -> Option<u32> {
        let found = value.get_ref().as_integer();
        let found = found.and_then(|number| u32::from_str_radix(number.as_str(), number.radix()).ok());
        let found = found.filter(|attempts| (2..=ATTEMPTS_MAX).contains(attempts));
        if found.is_none() {
            let help = format!("write how often it is executed at most, from 2 to {ATTEMPTS_MAX}");
            self.refuse(value.span(), "attempts is no number of attempts", help);
        }
        found
    }

    fn codes(&mut self, value: &Spanned<DeValue<'_>>) -> Option<Vec<String>> {
        let codes = self.strings(value, "codes")?;
        if codes.is_empty() {
            self.refuse(
                value.span(),
                "codes names no failure",
                "name one, or leave codes away: then all are",
            );
            return None;
        }
        Some(codes)
    }
}
