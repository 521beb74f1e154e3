//! `$rolling`: windows measured in time.

use std::collections::VecDeque;

use super::clock::{Clock, Reason};
use super::ladder::{Width, window_start};
use super::resample::length;
use super::{Bucket, Columns, Sample, Summary, same_instant};

/// The specification of a `$rolling`.
#[derive(Debug)]
pub(crate) struct Rolling {
    pub(crate) columns: Columns,
    pub(crate) width: Width,
    pub(crate) clock: Clock,
    pub(crate) aggregate: Summary,
    /// How many rows a window must hold to have a value.
    pub(crate) min_periods: f64,
}

/// For each of the samples, which are in the order of their instants, the window that ends at its instant and includes it.
/// Samples of one instant share a window.
pub(crate) fn rolling(spec: &Rolling, samples: &[Sample]) -> Result<Vec<Bucket>, Reason> {
    let mut window = Window::new(spec.aggregate);
    let mut answers = Vec::with_capacity(samples.len());
    for group in samples.chunk_by(|a, b| same_instant(a.at, b.at)) {
        let Some(Sample { at, .. }) = group.first().copied() else { continue };
        window.leave(window_start(spec.width, at, &spec.clock)?);
        for sample in group {
            window.enter(*sample);
        }
        let count = window.samples.len();
        let value = if length(count) < spec.min_periods { None } else { window.value() };
        answers.extend(group.iter().map(|_| Bucket { at, count, value }));
    }
    Ok(answers)
}

/// A window with what its aggregate needs at hand.
struct Window {
    aggregate: Summary,
    samples: VecDeque<Sample>,
    /// The values that can still become the first, the last, the least or the greatest one, each with its number.
    candidates: VecDeque<(usize, f64)>,
    /// The number of the oldest sample.
    oldest: usize,
    sum: f64,
    measured: usize,
}

impl Window {
    fn new(aggregate: Summary) -> Self {
        let (samples, candidates) = (VecDeque::new(), VecDeque::new());
        Self { aggregate, samples, candidates, oldest: 0, sum: 0.0, measured: 0 }
    }

    /// Lets samples out that are not after an instant.
    fn leave(&mut self, opens: f64) {
        while let Some(sample) = self.samples.pop_front_if(|sample| sample.at <= opens) {
            if let Some(value) = sample.value {
                self.sum -= value;
                self.measured -= 1;
            }
            self.oldest += 1;
        }
        while self.candidates.pop_front_if(|(number, _)| *number < self.oldest).is_some() {}
    }

    fn enter(&mut self, sample: Sample) {
        let number = self.oldest + self.samples.len();
        self.samples.push_back(sample);
        let Some(value) = sample.value else { return };
        self.sum += value;
        self.measured += 1;
        // A candidate goes when the new value is preferred to it as long as both are there.
        while self
            .candidates
            .pop_back_if(|(_, known)| match self.aggregate {
                Summary::Min => *known >= value,
                Summary::Max => *known <= value,
                Summary::Last => true,
                _ => false,
            })
            .is_some()
        {}
        if !matches!(self.aggregate, Summary::Sum | Summary::Mean | Summary::Count) {
            self.candidates.push_back((number, value));
        }
    }

    fn value(&self) -> Option<f64> {
        match self.aggregate {
            Summary::Count => Some(length(self.samples.len())),
            _ if self.measured == 0 => None,
            Summary::Sum => Some(self.sum),
            Summary::Mean => Some(self.sum / length(self.measured)),
            _ => self.candidates.front().map(|(_, value)| *value),
        }
    }
}
