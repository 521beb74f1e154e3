//! `$resample`: rows gathered in buckets of one width.

use super::clock::Reason;
use super::ladder::Ladder;
use super::{Bucket, Columns, Sample, Summary};
use crate::dates::real;

/// The specification of a `$resample`.
#[derive(Debug)]
pub(crate) struct Resample {
    pub(crate) columns: Columns,
    pub(crate) ladder: Ladder,
    pub(crate) aggregate: Summary,
    pub(crate) fill: Fill,
    /// The first instant that counts, and the first after those that do.
    pub(crate) start: Option<f64>,
    pub(crate) end: Option<f64>,
}

/// What a bucket without rows answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fill {
    /// There is none.
    Omit,
    Null,
    Zero,
    /// The last value before it.
    Carry,
    /// What lies on the line between the values around it.
    Linear,
}

/// Why rows have no buckets.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    Refused(Reason),
    /// More buckets without rows than may be made.
    TooMany,
}

impl From<Reason> for Failure {
    fn from(refusal: Reason) -> Self {
        Self::Refused(refusal)
    }
}

/// The buckets of samples in the order of their instants, with at most so many that hold no rows.
pub(crate) fn resample(
    spec: &Resample,
    samples: &[Sample],
    empty_max: usize,
) -> Result<Vec<Bucket>, Failure> {
    let Resample { ladder, aggregate, fill, start, end, .. } = spec;
    let before = |bound: f64| samples.partition_point(|sample| sample.at < bound);
    let (from, to) = (start.map_or(0, before), end.map_or(samples.len(), before));
    let mut rest = samples.get(from..to).unwrap_or_default();
    let first = start.or(rest.first().map(|sample| sample.at));
    let limit = end.or(rest.last().map(|sample| sample.at + 1.0));
    let (Some(first), Some(limit)) = (first, limit) else { return Ok(Vec::new()) };

    let mut filler = Filler { spec, left: empty_max, buckets: Vec::new() };
    let mut index = ladder.index(first)?;
    while let Some(sample) = rest.first() {
        // Buckets without rows are passed over at once; walking them could take for ever.
        let next = ladder.index(sample.at)?.max(index);
        let at = ladder.start(next)?;
        filler.fill(index, at)?;
        let end = ladder.start(next + 1.0)?;
        let held = rest.iter().take_while(|sample| sample.at < end).count().max(1);
        let (inside, after) = rest.split_at_checked(held).unwrap_or((rest, &[]));
        let value = summary(inside, *aggregate);
        filler.buckets.push(Bucket { at, count: inside.len(), value });
        (rest, index) = (after, next + 1.0);
    }
    filler.fill(index, limit)?;
    let mut buckets = filler.buckets;
    if *aggregate != Summary::Count {
        match fill {
            Fill::Carry => carry(&mut buckets),
            Fill::Linear => interpolate(&mut buckets),
            Fill::Omit | Fill::Null | Fill::Zero => {}
        }
    }
    Ok(buckets)
}

/// Buckets so far, and those without rows that may still be made.
struct Filler<'s> {
    spec: &'s Resample,
    left: usize,
    buckets: Vec<Bucket>,
}

impl Filler<'_> {
    /// Adds buckets without rows from that index on, as long as they begin before the limit.
    fn fill(&mut self, mut index: f64, limit: f64) -> Result<(), Failure> {
        if self.spec.fill == Fill::Omit {
            return Ok(());
        }
        let zero = self.spec.fill == Fill::Zero || self.spec.aggregate == Summary::Count;
        loop {
            let at = self.spec.ladder.start(index)?;
            if at >= limit {
                return Ok(());
            }
            self.left = self.left.checked_sub(1).ok_or(Failure::TooMany)?;
            self.buckets.push(Bucket { at, count: 0, value: zero.then_some(0.0) });
            index += 1.0;
        }
    }
}

fn summary(samples: &[Sample], aggregate: Summary) -> Option<f64> {
    let mut values = samples.iter().filter_map(|sample| sample.value);
    let count = values.clone().count();
    match aggregate {
        Summary::Count => Some(length(samples.len())),
        _ if count == 0 => None,
        Summary::Sum => Some(values.fold(0.0, |sum, value| sum + value)),
        Summary::Mean => Some(values.fold(0.0, |sum, value| sum + value) / length(count)),
        Summary::Min => values.reduce(|min, value| if value < min { value } else { min }),
        Summary::Max => values.reduce(|max, value| if value > max { value } else { max }),
        Summary::First => values.next(),
        Summary::Last => values.next_back(),
    }
}

/// A length as a number.
pub(super) fn length(length: usize) -> f64 {
    i64::try_from(length).map_or(f64::INFINITY, real)
}

/// Whether a bucket was measured: what fills the others rests on those.
fn measured(bucket: &Bucket) -> Option<(f64, f64)> {
    bucket.value.filter(|_| bucket.count > 0).map(|value| (bucket.at, value))
}

fn carry(buckets: &mut [Bucket]) {
    let mut last = None;
    for bucket in buckets {
        match measured(bucket) {
            Some((_, value)) => last = Some(value),
            None if bucket.count == 0 => bucket.value = last,
            None => {}
        }
    }
}

fn interpolate(buckets: &mut [Bucket]) {
    // First from the end, where each bucket without rows learns the next measured one.
    let mut after = vec![None; buckets.len()];
    let mut next = None;
    for (bucket, after) in buckets.iter().zip(&mut after).rev() {
        *after = next;
        next = measured(bucket).or(next);
    }
    let mut before = None;
    for (bucket, after) in buckets.iter_mut().zip(after) {
        if bucket.count == 0
            && let (Some((from, low)), Some((to, high))) = (before, after)
        {
            let slope = (high - low) / (to - from);
            bucket.value = Some(low + slope * (bucket.at - from));
        }
        before = measured(bucket).or(before);
    }
}
