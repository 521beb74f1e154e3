//! Which failures of a task are tried again, how often and how soon.

use std::time::Duration;

use jaren_durable::Retry;
use jaren_host::Random;
use jaren_json::Str;

use crate::failure::Failure;

/// The pauses, unless a policy says otherwise: half a second at first, at most eight.
const FIRST: Duration = Duration::from_millis(500);
const MOST: Duration = Duration::from_secs(8);

/// A retry policy, declared where a task is registered ([`Registration::retry`](crate::Registration::retry)).
///
/// Before retry `n` there is a pause, drawn between nothing and `first · 2^(n-1)`, at most `most` (full jitter): tasks
/// that failed together do not come back together. A failure that says when to come back ([`Retry::AfterDelay`]) is
/// believed: the drawn pause begins after its delay, whatever `most` is.
///
/// ```
/// use std::time::Duration;
/// use jaren_engine::RetryPolicy;
///
/// let policy = RetryPolicy::times(4).with_backoff(Duration::from_secs(1), Duration::from_secs(30)).only_codes(["busy"]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    times: u32,
    first: Duration,
    most: Duration,
    after: After,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum After {
    Any,
    Safe,
    Codes(Vec<Str>),
}

impl RetryPolicy {
    /// Up to so many more attempts after one that failed, whatever it says, unless it says
    /// [`Retry::Never`].
    pub const fn times(times: u32) -> Self {
        RetryPolicy { times, first: FIRST, most: MOST, after: After::Any }
    }

    /// With a pause of up to `first` before the first retry, up to twice as long before each further one, and never
    /// longer than `most`.
    #[must_use]
    pub const fn with_backoff(mut self, first: Duration, most: Duration) -> Self {
        self.first = first;
        self.most = most;
        self
    }

    /// Only after failures that say [`Retry::Safe`] or [`Retry::AfterDelay`].
    #[must_use]
    pub fn only_safe(mut self) -> Self {
        self.after = After::Safe;
        self
    }

    /// Only after failures with one of these codes.
    #[must_use]
    pub fn only_codes<C: Into<Str>>(mut self, codes: impl IntoIterator<Item = C>) -> Self {
        self.after = After::Codes(codes.into_iter().map(Into::into).collect());
        self
    }

    /// What is wrong with the policy, if something is.
    pub(crate) fn defect(&self) -> Option<&'static str> {
        match &self.after {
            _ if self.most < self.first => Some("its longest pause is shorter than its first one"),
            After::Codes(codes) if codes.is_empty() => Some("it names no code after which to try again"),
            _ => None,
        }
    }

    /// The pause before that retry, counted from 1; none when the failure is final.
    pub(crate) fn pause(&self, retry: u32, failure: &Failure, random: &dyn Random) -> Option<Duration> {
        let wanted = match &self.after {
            After::Any => true,
            After::Safe => matches!(failure.retry, Retry::Safe | Retry::AfterDelay(_)),
            After::Codes(codes) => failure.code.as_ref().is_some_and(|code| codes.contains(code)),
        };
        if retry > self.times || !wanted || failure.retry == Retry::Never {
            return None;
        }
        // From the 31st retry on the longest pause has come, unless the first one is below 4 ns.
        let doubled = self.first.saturating_mul(1 << (retry - 1).min(30)).min(self.most);
        let mut drawn = [0; 8];
        random.fill(&mut drawn);
        let most = doubled.as_millis();
        let pause = ((most + 1) * u128::from(u64::from_le_bytes(drawn))) >> 64;
        let drawn = Duration::from_millis(u64::try_from(pause).unwrap_or(u64::MAX));
        let asked = match failure.retry {
            Retry::AfterDelay(delay) => delay,
            _ => Duration::ZERO,
        };
        Some(asked.saturating_add(drawn))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jaren_host::SeededRandom;

    #[test]
    fn pauses_grow_up_to_the_longest_and_are_drawn() {
        let policy = RetryPolicy::times(40).with_backoff(Duration::from_millis(100), Duration::from_secs(1));
        let (failure, random) = (Failure::new("busy"), SeededRandom::new(7));
        let mut longest = [0; 41];
        for _ in 0..500 {
            for (retry, longest) in (1..=40).zip(&mut longest[1..]) {
                let pause = policy.pause(retry, &failure, &random).unwrap();
                *longest = pause.as_millis().max(*longest);
            }
        }
        assert!(longest[1] <= 100 && longest[2] <= 200 && longest[3] <= 400 && longest[40] <= 1_000);
        assert!(longest[1] > 90 && longest[2] > 180 && longest[3] > 360 && longest[40] > 900);
        assert_eq!(policy.pause(41, &failure, &random), None);
    }

    #[test]
    fn a_failure_that_knows_when_to_come_back_is_believed() {
        let policy = RetryPolicy::times(1).with_backoff(Duration::from_millis(10), Duration::from_millis(10));
        let after = |delay| Failure::new("busy").with_retry(Retry::AfterDelay(delay));
        let random = SeededRandom::new(7);
        let minute = Duration::from_mins(1);
        let pause = policy.clone().only_safe().pause(1, &after(minute), &random).unwrap();
        assert!((minute..=minute + Duration::from_millis(10)).contains(&pause));
        assert_eq!(policy.pause(2, &after(minute), &random), None);
        assert_eq!(policy.pause(1, &after(Duration::MAX), &random), Some(Duration::MAX));
    }

    #[test]
    fn a_policy_says_after_which_failures() {
        let random = SeededRandom::new(7);
        let [unknown, safe, never] =
            [Retry::Unknown, Retry::Safe, Retry::Never].map(|retry| Failure::new("x").with_retry(retry));
        let taken = |policy: RetryPolicy, failure: &Failure| policy.pause(1, failure, &random).is_some();
        let any = RetryPolicy::times(1);
        assert_eq!([&unknown, &safe, &never].map(|failure| taken(any.clone(), failure)), [true, true, false]);
        let only = any.clone().only_safe();
        assert_eq!(
            [&unknown, &safe, &never].map(|failure| taken(only.clone(), failure)),
            [false, true, false]
        );
        let codes = any.only_codes(["busy", "late"]);
        assert!(taken(codes.clone(), &unknown.clone().with_code("late")));
        assert!(!taken(codes.clone(), &unknown));
        assert!(!taken(codes, &never.with_code("busy")));
    }

    #[test]
    fn a_policy_that_makes_no_sense_is_noticed() {
        assert_eq!(RetryPolicy::times(0).defect(), None);
        assert!(RetryPolicy::times(1).with_backoff(MOST, FIRST).defect().is_some());
        assert!(RetryPolicy::times(1).only_codes([] as [&str; 0]).defect().is_some());
    }
}
