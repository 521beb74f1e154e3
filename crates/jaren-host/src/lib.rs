//! What a host lends to jaren: clock, ids and randomness.
//!
//! Each is a small trait with an implementation over the system and one for tests. Whatever needs time, an id or
//! random bytes is handed one of these and asks nobody else, so that a test decides what it sees.
//!
//! ```
//! use std::sync::Arc;
//! use jaren_host::{Clock, Ids, ManualClock, Millis, SeededRandom, SortableIds};
//!
//! let clock = Arc::new(ManualClock::new(Millis::new(1_000)));
//! let ids = SortableIds::new(clock.clone(), Arc::new(SeededRandom::new(7)));
//! let (first, second) = (ids.mint("run"), ids.mint("run"));
//! assert!(first.starts_with("run_") && first < second);
//! clock.advance(500);
//! assert_eq!(clock.now(), Millis::new(1_500));
//! ```
#![forbid(unsafe_code)]

mod clock;
mod ids;
mod random;

pub use clock::{Clock, ManualClock, Millis, Reaching, SystemClock};
pub use ids::{CountingIds, Ids, SortableIds};
pub use random::{Random, SeededRandom, SystemRandom};
