//! What a host lends to jaren: clock, ids and randomness.
//!
//! Each is a small trait with an implementation over the system and one for tests. Whatever needs time, an id or
//! random bytes is handed one of these and asks nobody else, so that a test decides what it sees.
//!
//! ```
//! use std::sync::Arc;
//! use std::time::Duration;
//! use jaren_host::{Clock, Ids, ManualClock, SeededRandom, SortableIds, Timestamp};
//!
//! let clock = Arc::new(ManualClock::new(Timestamp::from_millis(1_000)));
//! let ids = SortableIds::new(clock.clone(), Arc::new(SeededRandom::new(7)));
//! let (first, second) = (ids.mint("run"), ids.mint("run"));
//! assert!(first.starts_with("run_") && first < second);
//! clock.advance(Duration::from_millis(500));
//! assert_eq!(clock.now(), Timestamp::from_millis(1_500));
//! ```
#![forbid(unsafe_code)]

mod clock;
mod ids;
mod random;

pub use clock::{Clock, ManualClock, Reaching, SystemClock, Timestamp};
pub use ids::{CountingIds, Ids, SortableIds};
pub use random::{Random, SeededRandom, SystemRandom};
