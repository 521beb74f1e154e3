//! Time zones: the language has no zone data of its own and asks its host (section 8.16).

#[cfg(feature = "time-zones")]
mod bundled;

use std::fmt;
use std::sync::Arc;

#[cfg(feature = "time-zones")]
pub use bundled::BundledZones;

/// The time zones of a host.
///
/// A query names a zone in the specification of a time series; the name is looked up once, when the query is compiled.
/// The name `UTC` and offsets in minutes need no host.
///
/// ```
/// use std::sync::Arc;
///
/// use jaren_json::value;
/// use jaren_query::{CompileOptions, Offsets, Query, Scope, TimeZone, TimeZones};
///
/// /// A clock that is always two hours ahead.
/// #[derive(Debug)]
/// struct Ahead;
///
/// impl TimeZone for Ahead {
///     fn offset_at(&self, _: i64) -> i64 {
///         7_200_000
///     }
///
///     fn offsets_of(&self, _: i64) -> Offsets {
///         Offsets::One(7_200_000)
///     }
/// }
///
/// #[derive(Debug)]
/// struct Zones;
///
/// impl TimeZones for Zones {
///     fn zone(&self, name: &str) -> Option<Arc<dyn TimeZone>> {
///         (name == "Europe/Kyiv").then(|| Arc::new(Ahead) as _)
///     }
/// }
///
/// let options = CompileOptions::new().with_time_zones(Arc::new(Zones));
/// let day = value!({"$datetime": {"$time-bucket": ["$", "P1D", null, {"zone": "Europe/Kyiv"}]}});
/// let query = Query::compile_with(&day, &options)?;
/// let midnight = query.first(&Scope::value(&value!("2026-02-15T23:30:00Z")))?;
/// assert_eq!(midnight, Some(value!("2026-02-15T22:00:00Z")));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait TimeZones: fmt::Debug + Send + Sync {
    /// The zone of that name in the IANA time zone database, or nothing where there is none.
    fn zone(&self, name: &str) -> Option<Arc<dyn TimeZone>>;
}

/// One time zone: how far its clocks are ahead of UTC, in milliseconds. It must always give the same answers.
///
/// Any number may be asked for; beyond the range that a zone knows, the nearest time it knows counts.
pub trait TimeZone: fmt::Debug + Send + Sync {
    /// The offset at an instant, in milliseconds since 1970-01-01T00:00:00Z.
    fn offset_at(&self, instant: i64) -> i64;

    /// The offsets with which clocks show a time of day, in milliseconds since they showed 1970-01-01T00:00:00.
    fn offsets_of(&self, wall: i64) -> Offsets;
}

/// The offsets that a time on the wall may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offsets {
    /// The clocks show it once.
    One(i64),
    /// The clocks show it twice or never, because they were put back or forward: the offsets before and after that.
    Two(i64, i64),
}
