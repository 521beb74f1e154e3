//! Waiting for a time of the host's clock.

use std::time::Duration;

use jaren_host::{Clock, Timestamp};

/// The longest sleep before the clock is asked again: a clock may be set, and a machine may have slept.
const RECHECK: Duration = Duration::from_secs(1);

/// Ends when the clock has reached that time: woken by the clock itself if it can do that, else by the runtime's timer.
pub(crate) async fn until(clock: &dyn Clock, at: Timestamp) {
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
