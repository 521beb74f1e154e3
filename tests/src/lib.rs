//! What the suites that cross crates share: the built program, a private folder to run it in, and a storm document whose
//! tasks write down that they ran, and the judge of what they wrote.
#![forbid(unsafe_code)]
#![expect(clippy::expect_used, clippy::panic, reason = "helpers of tests fail by panicking")]

pub mod history;
pub mod judge;
pub mod program;
pub mod random;
pub mod storm;
