//! Waiting for a time of the host's clock.

use std::time::Duration;

use jaren_host::{Clock, Millis};

/// The longest sleep before the clock is asked again: a clock may be set, and a machine may have slept.
const RECHECK: Duration = Duration::from_secs(1);

/// Ends when the clock has reached that time: woken by the clock itself if it can do that, else by the runtime's timer.
pub(crate) async fn until(clock: &dyn Clock, at: Millis) {
    loop {
        let left = at.since(clock.now());
        if left.is_zero() {
            return;
        }
        match clock.reaching(at) {
            Some(reached) => reached.await,
            None => tokio::time::sleep(left.min(RECHECK)).await,
        }
    }
}

/// So much later, a part of a millisecond counted as a whole one.
pub(crate) fn later(at: Millis, duration: Duration) -> Millis {
    let ms = duration.as_nanos().div_ceil(1_000_000);
    at.plus(i64::try_from(ms).unwrap_or(i64::MAX))
}
