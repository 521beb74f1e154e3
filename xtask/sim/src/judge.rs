//! The judge: after every step it reads the store, and nothing else, and holds it against the laws.

mod laws;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jaren_durable::{Batch, Family, MemoryStorage, Seq, Session, SessionId, Singleton, Write};
use jaren_engine::core::RunState;
use jaren_flow::workflow::Workflow;
use jaren_json::Value;

use crate::board::{Life, Task};
use crate::causes::{Beside, Cause, Coverage, cause, rests_in};
use crate::document::{Edition, REVISION, document, edition_of};
use crate::oracle::{self, Config, Decision, End};
use crate::plan::Part;
use crate::tasks::{Declared, run_name, run_number};

/// A law that was broken, in words.
pub(crate) type Broken = String;

const SNAPSHOT: Singleton = Singleton::new("jaren.run.snapshot", 1);
const HOLDER: &str = "jaren.run.holder";
const FAILURE: &str = "jaren.run.failure";
const REBINDS: Singleton = Singleton::new("jaren.run.rebinds", 1);
const INBOX: Family = Family::new("jaren.run.inbox", 1);
const RECEIPT: Family = Family::new("jaren.run.receipt", 1);

/// What is known of one run.
#[derive(Debug)]
pub(crate) struct Track {
    pub(crate) plan: Vec<Part>,
    pub(crate) input: Value,
    session: SessionId,
    /// Reads what each commit changed.
    handle: Option<Session>,
    head: Seq,
    /// Each snapshot that was stored, oldest first, with all that a resume derives.
    snapshots: Vec<Value>,
    /// The documents, compiled when they are first met.
    workflows: BTreeMap<Edition, Workflow>,
    /// Who bound it to another document, and what that led to.
    rebinds: Vec<Bound>,
    last: Option<Cause>,
    /// Who claimed the run last, and how many claims there were.
    holder: Option<Life>,
    attempts: usize,
    /// For each life the attempt that it last began, and the snapshot that it began with.
    begun: BTreeMap<Life, (usize, usize)>,
    /// The calls of each attempt.
    calls: BTreeMap<(usize, String, u64, String), u32>,
    inbox: BTreeSet<Arc<str>>,
    receipts: BTreeMap<Arc<str>, Value>,
    decisions: Vec<Decision>,
    /// The activation whose decision was noted last.
    noted: (String, u64),
    /// The generation that somebody was told to be durable.
    told: u64,
    /// How many commits writers of the run have made.
    pub(crate) writes: u64,
}

/// A rebinding.
#[derive(Debug, PartialEq, Eq)]
struct Bound {
    actor: String,
    generation: u64,
    edition: Edition,
}

/// What a commit wrote.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a kind of document")]
struct Wrote {
    state: bool,
    claim: bool,
    events: bool,
    rebinds: bool,
}

/// The judge of one history.
#[derive(Debug)]
pub(crate) struct Judge {
    memory: Arc<MemoryStorage>,
    pub(crate) runs: Vec<Track>,
    pub(crate) coverage: Coverage,
    /// How often each life retries its tasks.
    pub(crate) retries: BTreeMap<Life, u32>,
    /// Everything that was stored, in short: equal for equal histories.
    pub(crate) digest: u64,
}

impl Judge {
    pub(crate) fn new(memory: Arc<MemoryStorage>, runs: Vec<(Vec<Part>, Value)>) -> Self {
        let track = |(run, (plan, input)): (usize, (Vec<Part>, Value))| Track {
            plan,
            input,
            session: session(run),
            handle: None,
            head: Seq::ZERO,
            snapshots: Vec::new(),
            workflows: BTreeMap::new(),
            rebinds: Vec::new(),
            last: None,
            holder: None,
            attempts: 0,
            begun: BTreeMap::new(),
            calls: BTreeMap::new(),
            inbox: BTreeSet::new(),
            receipts: BTreeMap::new(),
            decisions: Vec::new(),
            noted: (String::new(), 0),
            told: 0,
            writes: 0,
        };
        let runs = runs.into_iter().enumerate().map(track).collect();
        Judge { memory, runs, coverage: Coverage::default(), retries: BTreeMap::new(), digest: 0 }
    }

    pub(crate) fn exists(&self, run: usize) -> bool {
        self.runs.get(run).is_some_and(|track| track.head != Seq::ZERO)
    }

    /// The run is done, in the store.
    pub(crate) fn is_done(&self, run: usize) -> bool {
        self.runs.get(run).and_then(|track| track.snapshots.last()).is_some_and(laws::is_done)
    }

    /// The run was bound to another document, or to the same one again.
    pub(crate) fn was_rebound(&self, run: usize) -> bool {
        self.runs.get(run).is_some_and(|track| !track.rebinds.is_empty())
    }

    /// The store tells of this rebinding.
    pub(crate) fn has_rebound(&self, run: usize, actor: &str, generation: u64, edition: Edition) -> bool {
        let bound = Bound { actor: actor.to_owned(), generation, edition };
        self.runs.get(run).is_some_and(|track| track.rebinds.contains(&bound))
    }

    /// This life claimed the run last.
    pub(crate) fn holds(&self, run: usize, life: Life) -> bool {
        self.runs.get(run).is_some_and(|track| track.holder == Some(life))
    }

    /// The run rests where events move it, in the store.
    pub(crate) fn waits_for_events(&self, run: usize) -> bool {
        let last = self.runs.get(run).and_then(|track| track.snapshots.last());
        last.is_some_and(|snapshot| rests_in(snapshot, &['h']))
    }

    /// The id's event lies in the inbox, or a wait has met it.
    pub(crate) fn has_event(&self, run: usize, id: &str) -> bool {
        self.runs.get(run).is_some_and(|track| track.inbox.contains(id) || track.receipts.contains_key(id))
    }

    /// A group was applied for a life: reads what it changed.
    pub(crate) async fn applied(&mut self, life: Life, group: &[Batch]) -> Result<(), Broken> {
        for part in group.iter().flat_map(|batch| &batch.sessions) {
            let run = run_number(part.session.as_str());
            let mut wrote = Wrote::default();
            for address in part.writes.iter().map(Write::address) {
                match address.kind() {
                    HOLDER => wrote.claim = true,
                    FAILURE => wrote.state = true,
                    kind if kind == REBINDS.kind() => wrote.rebinds = true,
                    kind if kind == SNAPSHOT.kind() => wrote.state = true,
                    _ => wrote.events = true,
                }
            }
            self.observe(run, life, wrote).await.map_err(|broken| format!("run {run}: {broken}"))?;
        }
        Ok(())
    }

    async fn observe(&mut self, run: usize, life: Life, wrote: Wrote) -> Result<(), Broken> {
        let memory = Arc::clone(&self.memory);
        let Some(track) = self.runs.get_mut(run) else { return Err("nobody has started it".to_owned()) };
        if track.handle.is_none() {
            track.handle = Session::open(memory.clone(), track.session.clone()).await.map_err(unreadable)?;
        }
        let Some(handle) = &mut track.handle else { return Ok(()) };
        handle.refresh().await.map_err(unreadable)?;
        let head = handle.head();
        if head == track.head {
            return Ok(()); // a conflict, or a refusal
        }
        if track.snapshots.last().is_some_and(laws::is_done) {
            return Err("a settled run changed".to_owned());
        }
        track.head = head;
        if wrote.rebinds {
            track.holder = None; // whoever drives it, claims it anew
        } else if wrote.claim {
            track.holder = Some(life);
        } else if wrote.state && track.holder != Some(life) {
            return Err(format!("life {life} committed, though {:?} has the claim", track.holder));
        }
        let mut beside = Beside { claim: wrote.claim, receipt: false };
        let Some(handle) = &mut track.handle else { return Ok(()) };
        let snapshot = handle.document(&SNAPSHOT).await.map_err(unreadable)?;
        let Some(snapshot) = snapshot else { return Err("it has no snapshot".to_owned()) };
        let snapshot = track.published(&snapshot)?;
        let Some(handle) = &mut track.handle else { return Ok(()) };
        laws::label(handle.label("status"), &snapshot)?;
        let failed = handle.label("status") == Some("failed");
        if wrote.events {
            let fresh = track.events().await?;
            // An event that broke a guard is gone with the failure, and no save point tells of it.
            beside.receipt = fresh > usize::from(failed);
        }
        self.digest = self.digest.rotate_left(5) ^ (head.get() << 8) ^ laws::generation(&snapshot);
        if wrote.state || wrote.claim {
            track.writes += 1;
        }
        if wrote.rebinds {
            return track.rebound(snapshot).await;
        }
        if wrote.state || wrote.claim {
            track.saved(snapshot, beside, &mut self.coverage)?;
        }
        if wrote.claim {
            track.attempts += 1;
            track.begun.insert(life, (track.attempts, track.snapshots.len() - 1));
        }
        Ok(())
    }

    /// A handler was called: by an attempt that may, for work that is admitted and not done, and once.
    pub(crate) fn called(&mut self, life: Life, task: &Task) -> Result<(), Broken> {
        let Some(track) = self.runs.get_mut(task.run) else { return Err("a task of no run".to_owned()) };
        let Task { state, visit, node, .. } = task;
        let name = format!("{state} {visit} {node}");
        let Some((attempt, at)) = track.begun.get(&life).copied() else {
            return Err(format!("{name} was called without a claim"));
        };
        // Only what failed is called again by one attempt, as often as its life's tasks are retried.
        let calls = track.calls.entry((attempt, state.clone(), *visit, node.clone())).or_default();
        *calls += 1;
        if *calls > self.retries.get(&life).copied().unwrap_or(0) + 1 {
            return Err(format!("{name} was called {calls} times by one attempt"));
        }
        if track.snapshots.get(at).is_some_and(|began| laws::finished(began, state, *visit, node)) {
            return Err(format!("{name} was called again, though its completion was acknowledged"));
        }
        let newest = track.snapshots.last();
        if track.holder == Some(life) && !newest.is_some_and(|now| laws::admits(now, state, *visit, node)) {
            return Err(format!("{name} was called, though the store does not ask for it"));
        }
        Ok(())
    }

    /// Somebody was told that a generation is durable.
    pub(crate) fn told(&mut self, run: usize, generation: u64) -> Result<(), Broken> {
        let Some(track) = self.runs.get_mut(run) else { return Ok(()) };
        track.told = track.told.max(generation);
        let stored = track.snapshots.last().map_or(0, laws::generation);
        if stored < track.told {
            return Err(format!("generation {} was acknowledged, the store has {stored}", track.told));
        }
        Ok(())
    }

    /// What was stored of a run, without generations and times, each state once.
    pub(crate) fn saves(&self, run: usize) -> Vec<Value> {
        let snapshots = self.runs.get(run).into_iter().flat_map(|track| &track.snapshots);
        let mut saves: Vec<Value> = snapshots.map(laws::timeless).collect();
        saves.dedup();
        saves
    }

    /// The run's end, and everything that was stored on the way, against the second reading.
    pub(crate) fn settle(&self, run: usize) -> Result<(), Broken> {
        let Some(track) = self.runs.get(run) else { return Ok(()) };
        let (configs, end) = track.read(None);
        for snapshot in &track.snapshots {
            let told = |broken| format!("generation {}: {broken}", laws::generation(snapshot));
            let place = (laws::entered(snapshot), edition_of(snapshot).unwrap_or_default());
            // Work that went on under another document than the one that it was saved under.
            let earlier = (place.1 != track.edition_after(place.0)).then(|| track.read(Some(place)).0);
            laws::agrees(snapshot, earlier.as_ref().unwrap_or(&configs), &track.input).map_err(told)?;
        }
        let last = track.snapshots.last();
        match (&end, last.is_some_and(laws::is_done)) {
            (End::Done(_), true) | (End::Limit, false) => {}
            _ => return Err(format!("it should have ended with {end:?}")),
        }
        track.consumed()
    }
}

impl Track {
    /// The stored snapshot with what a resume derives from it.
    fn published(&mut self, stored: &Value) -> Result<Value, Broken> {
        let edition = edition_of(stored).ok_or("its identity names no edition of its document")?;
        if !self.workflows.contains_key(&edition) {
            let compiled = Workflow::compile(&document(&self.plan, edition), &Declared);
            self.workflows.insert(edition, compiled.map_err(|report| report.to_string())?);
        }
        let Some(workflow) = self.workflows.get(&edition) else {
            return Err("it has no document".to_owned());
        };
        RunState::publish(workflow, self.session.as_str(), stored)
            .map_err(|error| format!("what it saved cannot be resumed: {error}"))
    }

    /// The second reading, as the run was bound; or bound to another edition in that place.
    fn read(&self, instead: Option<(u64, Edition)>) -> (Vec<Config>, End) {
        let edition = |entered| match instead {
            Some((there, edition)) if there == entered => edition,
            _ => self.edition_after(entered),
        };
        oracle::read(&self.plan, &self.input, &self.decisions, &edition)
    }

    /// The edition that the run was bound to when it left the place before which so many states had been entered: no
    /// rebinding enters one.
    fn edition_after(&self, entered: u64) -> Edition {
        let from = self.snapshots.partition_point(|snapshot| laws::entered(snapshot) <= entered);
        let left = self.snapshots.get(from).or_else(|| self.snapshots.last());
        left.and_then(edition_of).unwrap_or_default()
    }

    /// A rebinding: one more in the list, by somebody who is not in it yet, and nothing but the document is another.
    async fn rebound(&mut self, snapshot: Value) -> Result<(), Broken> {
        let Some(handle) = &mut self.handle else { return Ok(()) };
        let listed = handle.document(&REBINDS).await.map_err(unreadable)?.unwrap_or_default();
        let listed: Vec<Bound> = listed.as_array().into_iter().flatten().filter_map(bound).collect();
        let (Some((last, before)), Some(previous)) = (listed.split_last(), self.snapshots.last()) else {
            return Err("a rebinding is not in the list of them".to_owned());
        };
        if before != self.rebinds.as_slice() {
            return Err(format!("the list of rebindings was {:?}, and is {listed:?}", self.rebinds));
        }
        if before.iter().any(|bound| bound.actor == last.actor) {
            return Err(format!("{} bound it twice", last.actor));
        }
        let bound_to = (laws::generation(&snapshot), edition_of(&snapshot));
        if bound_to != (last.generation, Some(last.edition)) {
            return Err(format!("{last:?} led to {bound_to:?}"));
        }
        laws::rebinds(previous, &snapshot)?;
        self.rebinds = listed;
        self.last = None;
        self.snapshots.push(snapshot);
        Ok(())
    }

    /// What the inbox and the receipts say now. Answers how many receipts are new.
    async fn events(&mut self) -> Result<usize, Broken> {
        let Some(handle) = &mut self.handle else { return Ok(0) };
        let inbox = handle.family(&INBOX).await.map_err(unreadable)?;
        let inbox: BTreeSet<Arc<str>> = inbox.into_iter().map(|(id, _)| id).collect();
        let receipts = handle.family(&RECEIPT).await.map_err(unreadable)?;
        let receipts: BTreeMap<Arc<str>, Value> = receipts.into_iter().collect();
        if let Some(id) = inbox.iter().find(|id| receipts.contains_key(*id)) {
            return Err(format!("the event {id} waits, though it was consumed"));
        }
        let gone = self.inbox.iter().find(|id| !inbox.contains(*id) && !receipts.contains_key(*id));
        if let Some(id) = gone {
            return Err(format!("the event {id} is gone without a receipt"));
        }
        if let Some((id, _)) = self.receipts.iter().find(|(id, old)| receipts.get(*id) != Some(old)) {
            return Err(format!("the receipt of {id} changed"));
        }
        let fresh = receipts.len().saturating_sub(self.receipts.len());
        (self.inbox, self.receipts) = (inbox, receipts);
        Ok(fresh)
    }

    /// A new snapshot against the one before it.
    fn saved(&mut self, snapshot: Value, beside: Beside, coverage: &mut Coverage) -> Result<(), Broken> {
        let mut now = None;
        if let Some(before) = self.snapshots.last() {
            if *before == snapshot {
                return Ok(()); // only the failure was told
            }
            laws::follows(before, &snapshot)?;
            if laws::generation(&snapshot) == laws::generation(before) + 1 {
                let cause = cause(before, &snapshot, beside);
                if let Some(last) = self.last {
                    coverage.count(last, cause);
                }
                now = Some(cause);
            }
        } else if laws::generation(&snapshot) == 1 {
            now = Some(Cause::Claim);
        }
        self.last = now;
        self.note(&snapshot);
        self.snapshots.push(snapshot);
        Ok(())
    }

    /// Which way a wait ended: the work state behind each exit tells.
    fn note(&mut self, snapshot: &Value) {
        let Some(pending) = snapshot.get("pending").filter(|pending| !pending.is_null()) else { return };
        let state = pending.get("state").and_then(Value::as_str).unwrap_or_default();
        let visit = pending.get("visit").and_then(Value::as_u64).unwrap_or(0);
        let Some((_, exit)) = state.rsplit('/').next().and_then(|name| name.split_once('-')) else { return };
        if self.noted == (state.to_owned(), visit) {
            return;
        }
        self.noted = (state.to_owned(), visit);
        let event = snapshot.get("context").and_then(|context| context.get("event"));
        let event = event.filter(|_| exit != "late").cloned().unwrap_or_default();
        self.decisions.push(Decision { marker: state.to_owned(), event });
    }

    /// Each accepted event moved the run once, and nothing else did.
    fn consumed(&self) -> Result<(), Broken> {
        let number = |event: &Value| event.get("payload").and_then(|payload| payload.get("n")?.as_u64());
        let mut took: Vec<u64> = self.decisions.iter().filter_map(|taken| number(&taken.event)).collect();
        let accepted = |(id, receipt): (&Arc<str>, &Value)| {
            let accepted = receipt.get("accepted").and_then(Value::as_bool) == Some(true);
            id.strip_prefix('e').filter(|_| accepted)?.parse::<u64>().ok()
        };
        let mut told: Vec<u64> = self.receipts.iter().filter_map(accepted).collect();
        took.sort_unstable();
        told.sort_unstable();
        if took == told { Ok(()) } else { Err(format!("the events {took:?} moved it, and {told:?} say so")) }
    }
}

/// An entry of the list of rebindings.
fn bound(entry: &Value) -> Option<Bound> {
    let edition = entry.get("to")?.get("revision")?.as_str()?;
    Some(Bound {
        actor: entry.get("actor")?.as_str()?.to_owned(),
        generation: entry.get("generation")?.as_u64()?,
        edition: edition.strip_prefix(REVISION)?.parse().ok()?,
    })
}

fn unreadable(error: impl std::fmt::Display) -> Broken {
    format!("the store cannot be read: {error}")
}

/// The session of a run. Its name always is one.
pub(crate) fn session(run: usize) -> SessionId {
    SessionId::new(run_name(run).as_str()).unwrap_or_else(|_| unreachable!("the name is short and plain"))
}
