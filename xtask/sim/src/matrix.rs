//! The crash matrix: every durable write of the fixed documents fails before, after, and with its answer lost; then the
//! run is driven to its end, and judged like every other history.

use std::sync::{Mutex, PoisonError};

use jaren_durable_kit::faults::Fault;
use jaren_engine::CommitPolicy;
use jaren_json::{Value, value};

use crate::causes::Coverage;
use crate::dice::Dice;
use crate::fixed::{Fixed, documents};
use crate::history::{Reply, Verdict, in_one_thread, verdict};
use crate::link::Control;
use crate::many::cores;
use crate::world::{Setting, Trouble, World};

/// What the whole matrix came to.
#[derive(Debug, Default)]
pub(crate) struct Matrix {
    pub(crate) histories: u64,
    pub(crate) writes: usize,
    pub(crate) coverage: Coverage,
    /// Each with the place where it was met.
    pub(crate) broken: Vec<String>,
}

/// The undisturbed run, and then each of its writes with each fault.
struct Case {
    fixed: Fixed,
    policy: CommitPolicy,
    /// Drives stay for timers.
    parked: bool,
}

/// Goes through it.
pub(crate) fn matrix(faults: &[Fault], control: Option<Control>) -> Matrix {
    let (cases, whole) = (Mutex::new(cases().into_iter()), Mutex::new(Matrix::default()));
    let next = || cases.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || {
        while let Some(case) = next() {
            let one = case.run(faults, control);
            whole.lock().unwrap_or_else(PoisonError::into_inner).add(one);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..cores() {
            scope.spawn(work);
        }
    });
    let mut whole = whole.into_inner().unwrap_or_else(PoisonError::into_inner);
    whole.broken.sort();
    whole
}

/// The longest first, so that the threads end together.
fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for policy in [CommitPolicy::EverySavePoint, CommitPolicy::Coalesced] {
        for fixed in documents() {
            // Whether drives stay for timers tells only where there is something to stay for.
            let parks = fixed.replies.contains(&Reply::Time);
            for parked in [false, true].into_iter().filter(|parked| parks || !parked) {
                cases.push(Case { fixed: fixed.clone(), policy, parked });
            }
        }
    }
    cases
}

impl Case {
    fn run(&self, faults: &[Fault], control: Option<Control>) -> Matrix {
        // Events are numbered as they are sent, so documents that wait for them differ after a crash.
        let compares = self.policy == CommitPolicy::Coalesced && self.fixed.replies.is_empty();
        let every = compares
            .then(|| history(&self.fixed, CommitPolicy::EverySavePoint, false, None, control).0.saves);
        let mut one = Matrix::default();
        one.writes = one.take(self, None, every.as_deref(), control);
        for at in 1..=one.writes {
            for fault in faults {
                one.take(self, Some((at, *fault)), every.as_deref(), control);
            }
        }
        one
    }
}

/// Crash or no crash, both policies end alike, and what the one stores is a subsequence of what the other does.
pub(crate) fn follows(saves: &[Value], every: &[Value]) -> bool {
    let mut all = every.iter();
    saves.iter().all(|save| all.any(|other| other == save)) && saves.last() == every.last()
}

impl Matrix {
    /// Takes in one history. Answers how many commits it made.
    fn take(
        &mut self,
        case: &Case,
        fault: Option<(usize, Fault)>,
        every: Option<&[Value]>,
        control: Option<Control>,
    ) -> usize {
        let Case { fixed, policy, parked } = case;
        let (verdict, commits) = history(fixed, *policy, *parked, fault, control);
        self.histories += 1;
        self.coverage.add(&verdict.coverage);
        let place = |broken| format!("{} {policy:?} parked={parked} {fault:?}: {broken}", fixed.name);
        let strays = every.is_some_and(|every| !follows(&verdict.saves, every));
        let stray = strays.then(|| "its saves are no subsequence of all save points".to_owned());
        self.broken.extend(verdict.broken.or(stray).map(place));
        commits
    }

    fn add(&mut self, other: Matrix) {
        self.histories += other.histories;
        self.writes += other.writes;
        self.coverage.add(&other.coverage);
        self.broken.extend(other.broken);
    }
}

/// One history of one document, with at most one fault. Answers how many commits it made, too.
fn history(
    fixed: &Fixed,
    policy: CommitPolicy,
    parked: bool,
    fault: Option<(usize, Fault)>,
    control: Option<Control>,
) -> (Verdict, usize) {
    let setting = Setting { without: vec![Trouble::Clocks], control, ..Setting::default() };
    let mut world = World::new(setting, Dice::new(1), vec![(fixed.plan.clone(), value!(7))], false);
    world.script.fault = fault;
    (world.policy, world.parked) = (Some(policy), parked);
    let replies = fixed.replies.clone();
    in_one_thread(async move {
        let mut steps = 0;
        let broken = world.finish(0, &replies, &mut steps).await.err();
        let commits = world.script.commits();
        (verdict(world, broken, steps), commits)
    })
}
