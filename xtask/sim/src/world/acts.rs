//! What the schedule may do: begin drives and sends, let pending things end, well or badly.

use std::sync::{Arc, Weak};
use std::time::Duration;

use jaren_durable::{Batch, Retry};
use jaren_durable_kit::faults::Fault;
use jaren_engine::{CancellationToken, Drive, Engine, Event, Failure, Rebind, Record, Resources, Start};
use jaren_json::{Value, value};
use tokio::sync::Notify;

use super::{Driving, Trouble, World};
use crate::board::{Board, Ending, Item, Life, News};
use crate::document::{EDITIONS, document, number};
use crate::judge::Broken;
use crate::link::failed;
use crate::tasks::{Lent, is_other, run_name};

/// How a drive is begun.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is drawn by itself")]
pub(crate) struct Manner {
    /// By starting the run, which may exist.
    pub(crate) start: bool,
    /// For timers.
    pub(crate) stays: bool,
    /// How often the same handle drives again.
    pub(crate) again: usize,
    /// With another input: this must be refused.
    pub(crate) probes: bool,
    /// Without what its tasks need: this must be refused before one is called.
    pub(crate) poor: bool,
}

/// What becomes of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Well,
    /// Applied; the answer takes its time.
    Slow,
    /// Fails so.
    Fault(Fault),
    Busy,
    /// The answer says that nobody knows, and it is applied later or never.
    Late,
}

impl World {
    /// Begins to drive a run in a process.
    pub(crate) fn drive(&mut self, index: usize, run: usize, manner: Manner) {
        let Some(trip) = self.trip(index, run, manner) else { return };
        let (cancel, dropped) = (trip.cancel.clone(), Arc::clone(&trip.dropped));
        let join = tokio::spawn(trip.go()).abort_handle();
        self.drives(index, run, manner, Driving::new(join, cancel, dropped));
    }

    /// Begins to drive two runs in one task of a process, so that neither goes on where the other holds the thread.
    pub(crate) fn drive_both(&mut self, index: usize, runs: [usize; 2], manner: Manner) {
        let trips = runs.map(|run| self.trip(index, run, manner));
        let [Some(one), Some(other)] = trips else { return };
        let handles = [&one, &other].map(|trip| (trip.cancel.clone(), Arc::clone(&trip.dropped)));
        let join = tokio::spawn(async move {
            tokio::join!(one.go(), other.go());
        })
        .abort_handle();
        for (run, (cancel, dropped)) in runs.into_iter().zip(handles) {
            self.drives(index, run, manner, Driving::new(join.clone(), cancel, dropped));
        }
    }

    fn drives(&mut self, index: usize, run: usize, manner: Manner, driving: Driving) {
        let writes = self.judge.runs.get(run).map_or(0, |track| track.writes);
        let Some(process) = self.processes.get_mut(index) else { return };
        let life = process.life;
        if let Some(place) = process.drives.get_mut(run) {
            *place = Some(Driving { writes, probes: manner.probes, poor: manner.poor, ..driving });
        }
        self.say(|| format!("process {life} drives run {run}: {manner:?}"));
    }

    fn trip(&self, index: usize, run: usize, manner: Manner) -> Option<Trip> {
        let (process, (document, input)) = (self.processes.get(index)?, self.documents.get(run)?);
        let life = process.life;
        let input = if manner.probes { value!("another input") } else { input.clone() };
        let start = (manner.start || manner.probes)
            .then(|| Start::new(document.clone(), input).with_id(run_name(run)));
        Some(Trip {
            board: Arc::clone(&self.board),
            engine: process.engine.clone(),
            life,
            run,
            start,
            manner,
            cancel: CancellationToken::new(),
            dropped: Arc::default(),
        })
    }

    /// Binds a run to one of its documents.
    pub(crate) fn rebind(&mut self, index: usize, run: usize) {
        let edition = self.dice.below(EDITIONS as usize) as u64;
        let over = self.dice.percent(60);
        let Some(plan) = self.judge.runs.get(run).map(|track| track.plan.as_slice()) else { return };
        let to = document(plan, edition);
        // What a stranger binds a run to is its own.
        let Some(process) = self.processes.get_mut(index).filter(|process| !is_other(process.life)) else {
            return;
        };
        self.rebinds += 1;
        let actor = format!("actor {}", self.rebinds);
        let (engine, board, life) = (process.engine.clone(), Arc::clone(&self.board), process.life);
        let rebind = Rebind::new(to, actor.as_str(), "the simulation wants it so");
        let rebind = if over { rebind.starting_over() } else { rebind };
        let told = actor.clone();
        process.requests.push(tokio::spawn(async move {
            let ended = engine.rebind(&run_name(run), rebind).await;
            board.tell(News::Rebound { run, actor, edition, over, ended });
        }));
        self.say(|| format!("process {life}: {told} binds run {run} to edition {edition}, over: {over}"));
    }

    /// Asks a drive to stop, or drops its future.
    pub(crate) fn stop(&mut self, index: usize, run: usize, drops: bool) {
        let Some(process) = self.processes.get_mut(index) else { return };
        let life = process.life;
        let Some(driving) = process.drives.get_mut(run).and_then(Option::as_mut) else { return };
        driving.stopped = true;
        if drops {
            driving.drop.notify_one();
        } else {
            driving.cancel.cancel();
        }
        self.say(|| {
            format!(
                "process {life}: the drive of run {run} is {}",
                if drops { "dropped" } else { "cancelled" }
            )
        });
    }

    /// Sends an event; `q` decides what a guard makes of it.
    pub(crate) fn send(&mut self, index: usize, run: usize, kind: &'static str, q: u64) {
        self.events += 1;
        let id = format!("e{}", self.events);
        self.sent.push((run, id.clone(), kind, q));
        self.send_as(index, run, id, kind, q);
    }

    /// Sends one of the earlier events again, perhaps with another payload.
    pub(crate) fn send_again(&mut self, index: usize) {
        if self.sent.is_empty() {
            return;
        }
        let (run, id, kind, q) = self.sent[self.dice.below(self.sent.len())].clone();
        let q = if self.dice.percent(20) { q + 1 } else { q };
        self.send_as(index, run, id, kind, q);
    }

    fn send_as(&mut self, index: usize, run: usize, id: String, kind: &'static str, q: u64) {
        let Some(process) = self.processes.get_mut(index) else { return };
        let (engine, board, life) = (process.engine.clone(), Arc::clone(&self.board), process.life);
        let n: u64 = id.strip_prefix('e').and_then(|number| number.parse().ok()).unwrap_or(0);
        let event = Event::new(kind, value!({ "n": (number(n)), "q": (number(q)) })).with_id(id.clone());
        let told = id.clone();
        process.requests.retain(|request| !request.is_finished());
        process.requests.push(tokio::spawn(async move {
            let ended = engine.send(&run_name(run), event).await;
            board.tell(News::Sent { run, id, ended });
        }));
        self.say(|| format!("process {life} sends {kind} {told} (q {q}) to run {run}"));
    }

    /// Lets one of the pending things end.
    pub(crate) async fn open(&mut self, index: usize) -> Result<(), Broken> {
        let Some((life, item)) = self.board.take(index) else { return Ok(()) };
        match item {
            Item::Read { tx } => {
                self.say(|| format!("process {life}: a read ends"));
                let _ = tx.send(());
            }
            Item::Reply { answer, tx } => {
                self.say(|| format!("process {life}: the answer to a commit arrives"));
                let _ = tx.send(answer);
            }
            Item::Task { task, tx } => {
                let fails = self.board.rough() && self.with(Trouble::Failures) && self.dice.percent(4);
                // What is caught would make another result.
                let name = task.state.rsplit('/').next().unwrap_or_default();
                let ending = match fails && !name.starts_with('x') {
                    true if self.dice.percent(30) => Ending::Panics,
                    true => Ending::Answers(Err(Failure::new("a task failed that need not"))),
                    false => Ending::Answers(task.answer.clone()),
                };
                self.say(|| {
                    let how = if matches!(ending, Ending::Answers(Ok(_))) { "well" } else { "badly" };
                    format!(
                        "process {life}: run {}: {} {} {} ends {how}",
                        task.run, task.state, task.visit, task.node
                    )
                });
                let _ = tx.send(ending);
            }
            Item::Apply { group, tx } => return self.commit(life, group, tx).await,
        }
        Ok(())
    }

    async fn commit(
        &mut self,
        life: Life,
        mut group: Vec<Batch>,
        tx: tokio::sync::oneshot::Sender<crate::board::Answer>,
    ) -> Result<(), Broken> {
        let fate = match self.script.next() {
            Some(fault) => Fate::Fault(fault),
            None if self.board.rough() => self.fate(),
            None => Fate::Well,
        };
        self.say(|| format!("process {life}: a commit ends: {fate:?}"));
        let busy = Retry::AfterDelay(Duration::from_millis(1));
        match fate {
            Fate::Well => {
                let answer = self.apply(life, group).await?;
                let _ = tx.send(answer);
            }
            Fate::Slow => {
                let answer = self.apply(life, group).await?;
                self.board.push(life, Item::Reply { answer, tx });
            }
            Fate::Fault(fault) => {
                if fault.kills() {
                    for process in self.processes.iter().filter(|process| process.life == life) {
                        process.link.cut();
                    }
                }
                group.truncate(fault.writes(group.len()));
                if !group.is_empty() {
                    let _ = self.apply(life, group).await?;
                }
                let _ = tx.send(Err(failed(fault.retry().unwrap_or(Retry::Never))));
            }
            Fate::Late => {
                self.orphaned(life, group);
                let _ = tx.send(Err(failed(Retry::Unknown)));
            }
            Fate::Busy => drop(tx.send(Err(failed(busy)))),
        }
        Ok(())
    }

    fn fate(&mut self) -> Fate {
        let slow = self.dice.percent(15);
        if !self.with(Trouble::Faults) {
            return if slow { Fate::Slow } else { Fate::Well };
        }
        match self.dice.below(100) {
            0..4 => Fate::Fault(Fault::Refused),
            4..7 => Fate::Fault(Fault::NotWritten),
            7..12 => Fate::Fault(Fault::ReplyLost),
            12..14 => Fate::Busy,
            14..16 => Fate::Late,
            _ if slow => Fate::Slow,
            _ => Fate::Well,
        }
    }

    /// Applies what was acknowledged before it was applied: only a control has such.
    pub(crate) async fn catch_up(&mut self) -> Result<(), Broken> {
        let Some(index) = (!self.processes.is_empty()).then(|| self.dice.below(self.processes.len())) else {
            return Ok(());
        };
        let Some(process) = self.processes.get(index) else { return Ok(()) };
        let (life, behind) = (process.life, process.link.take_behind());
        match behind {
            Some(group) => self.apply(life, group).await.map(drop),
            None => Ok(()),
        }
    }
}

/// One handle's way: opened, driven, perhaps driven again.
struct Trip {
    board: Arc<Board>,
    engine: Engine,
    life: Life,
    run: usize,
    start: Option<Start>,
    manner: Manner,
    cancel: CancellationToken,
    dropped: Arc<Notify>,
}

impl Trip {
    async fn go(self) {
        let Trip { board, engine, life, run, start, manner, cancel, dropped } = self;
        let opened = match start {
            Some(start) => engine.start(start).await,
            None => engine.open(&run_name(run)).await,
        };
        if manner.probes {
            return board.tell(News::Probed(life, run, opened.map(drop)));
        }
        let mut handle = match opened {
            Ok(handle) => handle,
            Err(error) => {
                return board.tell(News::Driven { life, run, ended: Some(Err(error)), last: true });
            }
        };
        for round in 0..=manner.again {
            let seen = Arc::clone(&board);
            let observer = move |record: &Record| {
                if let Record::Committed { generation, .. } = record {
                    seen.tell(News::Told(run, *generation));
                }
            };
            let mut drive = Drive::new().with_cancel(cancel.clone()).with_observer(observer);
            if !manner.stays {
                drive = drive.without_timers();
            }
            let mut use_of = Weak::new();
            if !manner.poor {
                let held = Arc::new(());
                use_of = Arc::downgrade(&held);
                drive = drive.with_resources(Resources::new().with(Lent { life, run, _held: held }));
            }
            let ended = tokio::select! {
                biased;
                () = dropped.notified() => None,
                ended = handle.drive_with(drive) => Some(ended),
            };
            if ended.is_some() && use_of.strong_count() > 0 {
                board.tell(News::Broken(run, "a drive returned, and what it lent is still used".to_owned()));
            }
            board.tell(News::Driven { life, run, ended, last: round == manner.again });
        }
    }
}

/// The payload's `q` that every guard takes.
pub(crate) const TAKEN: u64 = 5;
/// One that it refuses.
pub(crate) const REFUSED: u64 = 20;
/// One over which it fails.
pub(crate) const BREAKS: u64 = 0;

/// An input that says which run it is.
pub(crate) fn input(run: usize, dice: &mut crate::dice::Dice) -> Value {
    value!({ "run": (number(run as u64)), "x": (number(dice.below(1000) as u64)) })
}
