//! Geography (section 8.14): GeoJSON values, measured, compared and converted.
//!
//! Everything here is a pure function of values. A position is a list that begins with two numbers, longitude and latitude
//! in degrees; what is no position where one is expected is passed over, because measuring is not validating.
//!
//! The code is our own and not that of the `geo` crate: the format asks for a sphere, the mean of the vertices and one
//! exact sign, all of it over values as they are, and `geo` would have each geometry copied into its types first.

mod contain;
mod geohash;
mod measure;
mod simplify;
mod walk;
mod wkt_read;
mod wkt_write;

use std::cell::Cell;

use jaren_json::Value;

use crate::budget::{Budget, Spent};

pub(crate) use contain::contains;
pub(crate) use geohash::{PRECISION_DEFAULT, PRECISION_MAX, cell_bounds, encode, neighbours};
pub(crate) use measure::{Bounds, all_finite, area, bounds, centroid, distance, length, representative};
pub(crate) use simplify::simplify;
pub(crate) use wkt_read::read_wkt;
pub(crate) use wkt_write::write_wkt;

/// How deep collections may nest in a value that is built or written, and how deep features are looked into for their
/// geometry, which RFC 7946 does not let be a feature again.
const COLLECTIONS_MAX: usize = 32;

/// Degrees of longitude and latitude.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Position {
    pub(crate) lon: f64,
    pub(crate) lat: f64,
}

impl Position {
    /// The position that a value is, if it is a list that begins with two numbers.
    pub(crate) fn of(value: &Value) -> Option<Self> {
        match value.as_array().map(|array| &array[..]) {
            Some([Value::Number(lon), Value::Number(lat), ..]) => Some(Self { lon: *lon, lat: *lat }),
            _ => None,
        }
    }

    pub(crate) fn is_finite(self) -> bool {
        self.lon.is_finite() && self.lat.is_finite()
    }
}

impl From<Position> for Value {
    fn from(position: Position) -> Self {
        [position.lon, position.lat].into_iter().map(Value::Number).collect()
    }
}

/// Why geography gives up on a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It has more parts than may be visited, or more is made of it than may be.
    Large,
    /// Its collections nest deeper than [`COLLECTIONS_MAX`].
    Deep,
}

impl Refusal {
    pub(crate) fn message(self) -> String {
        match self {
            Self::Large => {
                "looking at the geometry, or making another, takes more steps or work than the limits allow"
                    .to_owned()
            }
            Self::Deep => format!("expected at most {COLLECTIONS_MAX} nested collections of geometries"),
        }
    }
}

/// Counts the positions and the containers that are visited, ends what takes too many, and pays for what is made.
#[derive(Debug)]
pub(crate) struct Meter<'w> {
    left: Cell<u64>,
    work: &'w Budget,
}

impl<'w> Meter<'w> {
    pub(crate) fn new(visits: u64, work: &'w Budget) -> Self {
        Self { left: Cell::new(visits), work }
    }

    pub(crate) fn left(&self) -> u64 {
        self.left.get()
    }

    fn visit(&self, parts: usize) -> Result<(), Refusal> {
        let parts = u64::try_from(parts).unwrap_or(u64::MAX);
        self.left.set(self.left.get().checked_sub(parts).ok_or(Refusal::Large)?);
        Ok(())
    }

    /// Pays for so many bytes of a value or a text that is made.
    fn make(&self, bytes: usize) -> Result<(), Refusal> {
        self.work.spend(bytes.div_ceil(4)).map_err(|Spent| Refusal::Large)
    }
}
