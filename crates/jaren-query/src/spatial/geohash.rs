//! Geohashes: cells of the world halved again and again, east to west and north to south in turn, five halvings a letter.

use super::{Bounds, Position};

/// The letters by their five bits.
const LETTERS: &[u8; 32] = b"0123456789bcdefghjkmnpqrstuvwxyz";

/// The longest cell name that a query may ask for.
pub(crate) const PRECISION_MAX: usize = 12;
/// The length of a cell name where a query does not say.
pub(crate) const PRECISION_DEFAULT: usize = 9;

const WORLD: Bounds = Bounds { west: -180.0, south: -90.0, east: 180.0, north: 90.0 };

/// The halving that comes next.
#[derive(Clone, Copy)]
struct Halving {
    cell: Bounds,
    by_longitude: bool,
}

impl Halving {
    const FIRST: Self = Self { cell: WORLD, by_longitude: true };

    fn middle(&self) -> f64 {
        let Bounds { west, south, east, north } = self.cell;
        if self.by_longitude { f64::midpoint(west, east) } else { f64::midpoint(south, north) }
    }

    /// Goes on with the eastern or northern half, or with the other one.
    fn take(&mut self, upper: bool) {
        let middle = self.middle();
        let Bounds { west, south, east, north } = &mut self.cell;
        *match (self.by_longitude, upper) {
            (true, true) => west,
            (true, false) => east,
            (false, true) => south,
            (false, false) => north,
        } = middle;
        self.by_longitude = !self.by_longitude;
    }
}

/// The name of the cell of so many letters that holds a position; one beyond the world is in the nearest cell.
pub(crate) fn encode(position: Position, letters: usize) -> String {
    let mut halving = Halving::FIRST;
    let mut name = String::with_capacity(letters);
    for _ in 0..letters {
        let mut bits = 0;
        for _ in 0..5 {
            let coordinate = if halving.by_longitude { position.lon } else { position.lat };
            let upper = coordinate >= halving.middle();
            halving.take(upper);
            bits = bits * 2 + usize::from(upper);
        }
        name.extend(LETTERS.get(bits).map(|letter| char::from(*letter)));
    }
    name
}

/// The box of a cell; none for the empty text and for one that has another character than the letters of cells.
pub(crate) fn cell_bounds(name: &str) -> Option<Bounds> {
    let mut halving = Halving::FIRST;
    for letter in name.bytes() {
        let bits = LETTERS.iter().position(|known| *known == letter)?;
        for bit in [16, 8, 4, 2, 1] {
            halving.take(bits & bit != 0);
        }
    }
    (!name.is_empty()).then_some(halving.cell)
}

/// A cell and the cells around it, row by row from the north-west; there is none beyond a pole, and none for what is no cell.
pub(crate) fn neighbours(name: &str) -> Vec<String> {
    let Some(Bounds { west, south, east, north }) = cell_bounds(name) else { return Vec::new() };
    let mut cells: Vec<String> = Vec::with_capacity(9);
    for rows in [1.0, 0.0, -1.0] {
        let lat = f64::midpoint(south, north) + rows * (north - south);
        if !(WORLD.south..=WORLD.north).contains(&lat) {
            continue;
        }
        for columns in [-1.0, 0.0, 1.0] {
            let lon = f64::midpoint(west, east) + columns * (east - west);
            let lon = match lon {
                _ if lon > WORLD.east => lon - 360.0,
                _ if lon < WORLD.west => lon + 360.0,
                _ => lon,
            };
            let cell = encode(Position { lon, lat }, name.len());
            // Of the cells that are as wide as the world, or too small for doubles, some are the same.
            if !cells.contains(&cell) {
                cells.push(cell);
            }
        }
    }
    cells
}
