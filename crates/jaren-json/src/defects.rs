//! Defects while a compiler finds them.

use crate::{Diagnostic, Report};

/// Collects the defects that a compiler finds, in order, no more of them than a [`Report`] keeps.
#[derive(Debug, Default)]
pub struct Defects(Option<Report>);

impl Defects {
    /// No defect.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a defect; one that would not be kept is counted, and not made.
    pub fn push_with(&mut self, defect: impl FnOnce() -> Diagnostic) {
        match &mut self.0 {
            None => self.0 = Some(Report::new(defect())),
            Some(report) if report.is_full() => report.omit(1),
            Some(report) => report.push(defect()),
        }
    }

    /// Adds a defect.
    pub fn push(&mut self, defect: Diagnostic) {
        self.push_with(|| defect);
    }

    /// Counts so many more that are not kept, where any is: those that an embedded document's report only counts.
    pub fn omit(&mut self, defects: usize) {
        if let Some(report) = &mut self.0 {
            report.omit(defects);
        }
    }

    /// Adds others behind these.
    pub fn append(&mut self, others: Self) {
        let Some(others) = others.0 else { return };
        let Some(report) = &mut self.0 else {
            self.0 = Some(others);
            return;
        };
        let omitted = others.len().saturating_sub(others.iter().len());
        others.iter().for_each(|defect| report.push(defect.clone()));
        report.omit(omitted);
    }

    /// Whether a further one is only counted: then its message need not be made.
    pub fn is_full(&self) -> bool {
        self.0.as_ref().is_some_and(Report::is_full)
    }

    /// How many there are, with those that are only counted.
    pub fn count(&self) -> usize {
        self.0.as_ref().map_or(0, Report::len)
    }

    /// The report of them, if there is any.
    pub fn into_report(self) -> Option<Report> {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Pointer;

    #[test]
    fn what_is_not_kept_is_counted() {
        let defect = |message: String| Diagnostic::new("JQ0001", Pointer::root(), message);
        let mut defects = Defects::new();
        assert!(defects.into_report().is_none());
        defects = Defects::new();
        for number in 0..Report::DEFECTS_MAX + 5 {
            defects.push(defect(number.to_string()));
        }
        let mut before = Defects::new();
        before.push(defect("first".to_owned()));
        before.append(defects);
        assert!(before.is_full());
        assert_eq!(before.count(), Report::DEFECTS_MAX + 6);
        let report = before.into_report().unwrap();
        assert_eq!((report.iter().len(), report.len()), (Report::DEFECTS_MAX, Report::DEFECTS_MAX + 6));
        assert_eq!(report.first().message(), "first");

        let mut long = Defects::new();
        for _ in 0..5 {
            long.push(defect("x".repeat(1 << 20)));
        }
        let report = long.into_report().unwrap();
        assert_eq!((report.iter().len(), report.len()), (1, 5));
    }
}
