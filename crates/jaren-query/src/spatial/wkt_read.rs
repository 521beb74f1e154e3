//! Reading Well-Known Text (ISO 19125) as GeoJSON.

use jaren_json::{Value, value};

/// How deep `GEOMETRYCOLLECTION`s may nest in a text. The format names no bound, neither here nor for values; a text that
/// nests deeper than this is no geometry that anybody drew, so `$geo-text` writes some texts that are not read again.
const TEXT_COLLECTIONS_MAX: usize = 8;
const _: () = assert!(TEXT_COLLECTIONS_MAX <= super::COLLECTIONS_MAX, "what is read can be written");

/// The geometry that a text spells; none where it is not well formed.
///
/// Heights are kept and measures are not, because a GeoJSON position has no place for them. Coordinates may be anything.
pub(crate) fn read_wkt(text: &str) -> Option<Value> {
    let mut reader = Reader { text: text.as_bytes(), at: 0 };
    let starts = reader.text.first().is_some_and(u8::is_ascii_alphabetic);
    let geometry = if starts { reader.geometry(TEXT_COLLECTIONS_MAX) } else { None };
    geometry.filter(|_| reader.at == reader.text.len())
}

struct Reader<'t> {
    text: &'t [u8],
    at: usize,
}

/// How many numbers each position of a geometry has.
struct Dimension {
    /// Not known before the first position of a geometry without `Z` or `M`, which has two or three.
    numbers: Option<usize>,
    /// The last number is a measure.
    measured: bool,
}

/// The numbers of one position.
#[derive(Clone, Copy, Default, PartialEq)]
struct Numbers {
    numbers: [f64; 4],
    count: usize,
}

impl Numbers {
    fn to_value(self, dimension: &Dimension) -> Value {
        let kept = self.count.saturating_sub(usize::from(dimension.measured));
        self.numbers.into_iter().take(kept).map(Value::Number).collect()
    }
}

impl Reader<'_> {
    fn skip_space(&mut self) {
        self.skip(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'));
    }

    /// Skips all bytes of a kind and says how many.
    fn skip(&mut self, kind: impl Fn(u8) -> bool) -> usize {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let count = rest.iter().take_while(|byte| kind(**byte)).count();
        self.at += count;
        count
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    /// Takes a byte after white space, if it is the next one.
    fn take(&mut self, byte: u8) -> Option<()> {
        self.skip_space();
        self.peek().filter(|found| *found == byte).map(|_| self.at += 1)
    }

    /// Takes a word after white space, if it is the next one.
    fn word(&mut self, word: &str) -> bool {
        let start = self.at;
        self.skip_space();
        let from = self.at;
        self.skip(|byte| byte.is_ascii_alphabetic());
        let found =
            self.text.get(from..self.at).is_some_and(|text| text.eq_ignore_ascii_case(word.as_bytes()));
        if !found {
            self.at = start;
        }
        found
    }

    /// A geometry with its tag, in which so many levels of collections may be.
    fn geometry(&mut self, levels: usize) -> Option<Value> {
        const KINDS: [&str; 7] = [
            "Point",
            "LineString",
            "Polygon",
            "MultiPoint",
            "MultiLineString",
            "MultiPolygon",
            "GeometryCollection",
        ];
        let kind = KINDS.into_iter().find(|kind| self.word(kind))?;
        let (numbers, measured) = match () {
            () if self.word("ZM") => (Some(4), true),
            () if self.word("Z") => (Some(3), false),
            () if self.word("M") => (Some(3), true),
            () => (None, false),
        };
        let dimension = &mut Dimension { numbers, measured };
        let empty = self.word("EMPTY");
        if kind == "GeometryCollection" {
            let levels = levels.checked_sub(1);
            let geometries =
                if empty { value!([]) } else { self.list(1, |reader| reader.geometry(levels?))? };
            return Some(value!({"type": kind, "geometries": geometries}));
        }
        let coordinates = match kind {
            _ if empty => value!([]),
            "Point" => self.wrapped_position(dimension)?,
            "LineString" => self.line(dimension)?,
            "Polygon" => self.polygon(dimension)?,
            "MultiPoint" => self.list(1, |reader| reader.position_of_many(dimension))?,
            "MultiLineString" => self.list(1, |reader| reader.line(dimension))?,
            _ => self.list(1, |reader| reader.polygon(dimension))?,
        };
        Some(value!({"type": kind, "coordinates": coordinates}))
    }

    /// At least `min` items between brackets, with commas between them.
    fn list(&mut self, min: usize, mut item: impl FnMut(&mut Self) -> Option<Value>) -> Option<Value> {
        let mut items = Vec::new();
        self.take(b'(')?;
        loop {
            items.push(item(self)?);
            if self.take(b',').is_none() {
                self.take(b')')?;
                return (items.len() >= min).then(|| items.into_iter().collect());
            }
        }
    }

    fn line(&mut self, dimension: &mut Dimension) -> Option<Value> {
        self.list(2, |reader| Some(reader.position(dimension)?.to_value(dimension)))
    }

    fn polygon(&mut self, dimension: &mut Dimension) -> Option<Value> {
        self.list(1, |reader| reader.ring(dimension))
    }

    /// At least four positions, of which the last is the first, measures included.
    fn ring(&mut self, dimension: &mut Dimension) -> Option<Value> {
        let mut ends = None;
        let ring = self.list(4, |reader| {
            let position = reader.position(dimension)?;
            let (first, _) = ends.unwrap_or((position, position));
            ends = Some((first, position));
            Some(position.to_value(dimension))
        })?;
        ends.filter(|(first, last)| first == last).map(|_| ring)
    }

    /// A position of a `MULTIPOINT`, which may stand in brackets of its own.
    fn position_of_many(&mut self, dimension: &mut Dimension) -> Option<Value> {
        self.skip_space();
        match self.peek() {
            Some(b'(') => self.wrapped_position(dimension),
            _ => Some(self.position(dimension)?.to_value(dimension)),
        }
    }

    fn wrapped_position(&mut self, dimension: &mut Dimension) -> Option<Value> {
        self.take(b'(')?;
        let position = self.position(dimension)?;
        self.take(b')')?;
        Some(position.to_value(dimension))
    }

    /// Numbers with white space between them, as many as the geometry's other positions have.
    fn position(&mut self, dimension: &mut Dimension) -> Option<Numbers> {
        let mut position = Numbers::default();
        self.skip_space();
        while let Some(number) = self.number() {
            *position.numbers.get_mut(position.count)? = number;
            position.count += 1;
            let end = self.at;
            self.skip_space();
            if self.at == end {
                break;
            }
        }
        let fits = match dimension.numbers {
            Some(numbers) => position.count == numbers,
            None => matches!(position.count, 2 | 3),
        };
        dimension.numbers = Some(position.count);
        fits.then_some(position)
    }

    /// A decimal number, if it is what comes next; negative zero is read as zero.
    fn number(&mut self) -> Option<f64> {
        let start = self.at;
        let sign = |byte| matches!(byte, b'+' | b'-');
        self.at += usize::from(self.peek().is_some_and(sign));
        let mut digits = self.skip(|byte| byte.is_ascii_digit());
        if self.peek() == Some(b'.') {
            self.at += 1;
            digits += self.skip(|byte| byte.is_ascii_digit());
        }
        if digits > 0 && matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            self.at += usize::from(self.peek().is_some_and(sign));
            digits = self.skip(|byte| byte.is_ascii_digit());
        }
        if digits == 0 {
            self.at = start;
            return None;
        }
        let text = std::str::from_utf8(self.text.get(start..self.at)?).ok()?;
        text.parse().ok().map(|number: f64| number + 0.0)
    }
}
