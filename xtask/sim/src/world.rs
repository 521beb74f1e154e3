//! One history's world: a store, a clock, processes with an engine each, and what may be done to them.

pub(crate) mod acts;
mod ends;

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use jaren_durable::{Batch, MemoryStorage, Storage};
use jaren_engine::{CancellationToken, CommitPolicy, Engine, EngineError, Status};
use jaren_host::{Clock, CountingIds, ManualClock, SeededRandom, Timestamp};
use jaren_json::Value;
use tokio::sync::Notify;
use tokio::task::{AbortHandle, JoinHandle};

use crate::board::{Board, Item, Life};
use crate::dice::Dice;
use crate::document::document;
use crate::judge::{Broken, Judge};
use crate::link::{Control, Link, Script};
use crate::plan::Part;
use crate::tasks::{Care, RETRIES_MAX, other, tasks};

/// When histories begin.
const EPOCH: i64 = 1_000_000;
/// How long an engine waits for tasks that were asked to stop, in steps of the schedule.
const GRACE: Duration = Duration::from_millis(12);

/// What goes on in a history. Each may be turned off, to find out what a failure needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub(crate) enum Trouble {
    /// Processes crash, and new ones take their place.
    Crashes,
    /// Commits and reads fail, or their answers are lost or late.
    Faults,
    /// Clocks differ and jump.
    Clocks,
    /// Drives are cancelled or dropped.
    Stops,
    /// Events come at any time, repeated, refused, or breaking a guard.
    Events,
    /// Tasks fail that need not.
    Failures,
    /// Engines with another version of a task, and starts with another input.
    Strangers,
    /// Runs are bound to other documents.
    Rebinds,
}

impl Trouble {
    pub(crate) const ALL: [Trouble; 8] = [
        Trouble::Crashes,
        Trouble::Faults,
        Trouble::Clocks,
        Trouble::Stops,
        Trouble::Events,
        Trouble::Failures,
        Trouble::Strangers,
        Trouble::Rebinds,
    ];

    /// Its name on the command line.
    pub(crate) fn name(self) -> String {
        let value = clap::ValueEnum::to_possible_value(&self);
        value.map(|value| value.get_name().to_owned()).unwrap_or_default()
    }
}

/// What a history is made of.
#[derive(Clone, Debug, Default)]
pub(crate) struct Setting {
    /// None: the seed tells.
    pub(crate) runs: Option<usize>,
    /// At a time. None: the seed tells.
    pub(crate) processes: Option<usize>,
    pub(crate) without: Vec<Trouble>,
    pub(crate) control: Option<Control>,
    pub(crate) trace: bool,
}

impl Setting {
    /// The same with what a seed has drawn where nobody else has chosen.
    pub(crate) fn drawn(self, (runs, processes): (usize, usize)) -> Self {
        Setting { runs: self.runs.or(Some(runs)), processes: self.processes.or(Some(processes)), ..self }
    }
}

/// A clock that is wrong by so much.
#[derive(Debug)]
pub(crate) struct Skewed {
    base: Arc<ManualClock>,
    skew: ManualClock,
}

impl Clock for Skewed {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.base.now().as_millis() + self.skew.now().as_millis())
    }
}

/// A drive that is under way.
pub(crate) struct Driving {
    join: AbortHandle,
    cancel: CancellationToken,
    drop: Arc<Notify>,
    /// The commits of the run when it began.
    writes: u64,
    /// It was the schedule's will that it ends early.
    stopped: bool,
    probes: bool,
    poor: bool,
}

impl Driving {
    fn new(join: AbortHandle, cancel: CancellationToken, drop: Arc<Notify>) -> Self {
        Driving { join, cancel, drop, writes: 0, stopped: false, probes: false, poor: false }
    }
}

/// One process, from its start to its crash.
pub(crate) struct Process {
    pub(crate) life: Life,
    pub(crate) link: Arc<Link>,
    engine: Engine,
    clock: Arc<Skewed>,
    /// By run.
    pub(crate) drives: Vec<Option<Driving>>,
    /// Sends and rebindings.
    requests: Vec<JoinHandle<()>>,
}

/// The world of one history.
pub(crate) struct World {
    pub(crate) setting: Setting,
    pub(crate) dice: Dice,
    pub(crate) board: Arc<Board>,
    pub(crate) judge: Judge,
    pub(crate) processes: Vec<Process>,
    pub(crate) script: Script,
    /// The document and the input that each run begins with.
    documents: Vec<(Value, Value)>,
    memory: Arc<MemoryStorage>,
    pub(crate) clock: Arc<ManualClock>,
    ids: Arc<CountingIds>,
    lives: usize,
    /// Sent by processes that are gone, and on their way still.
    orphans: Vec<(Life, Vec<Batch>)>,
    pub(crate) events: u64,
    rebinds: u64,
    sent: Vec<(usize, String, &'static str, u64)>,
    /// The only policy of engines, if there is one.
    pub(crate) policy: Option<CommitPolicy>,
    /// Drives stay for timers once trouble has ended, too.
    pub(crate) parked: bool,
    /// How the drive that ended last ended.
    pub(crate) last: Option<Result<Status, EngineError>>,
    pub(crate) log: String,
}

impl World {
    pub(crate) fn new(setting: Setting, mut dice: Dice, plans: Vec<(Vec<Part>, Value)>, rough: bool) -> Self {
        let clock = Arc::new(ManualClock::new(Timestamp::from_millis(EPOCH)));
        let memory = Arc::new(MemoryStorage::with_clock(clock.clone()));
        let faulty = rough && !setting.without.contains(&Trouble::Faults);
        let board = Board::new(dice.fork(), rough, faulty);
        let documents = plans.iter().map(|(plan, input)| (document(plan, 0), input.clone())).collect();
        World {
            setting,
            dice,
            board,
            judge: Judge::new(Arc::clone(&memory), plans),
            processes: Vec::new(),
            script: Script::default(),
            documents,
            memory,
            clock,
            ids: Arc::default(),
            lives: 0,
            orphans: Vec::new(),
            events: 0,
            rebinds: 0,
            sent: Vec::new(),
            policy: None,
            parked: false,
            last: None,
            log: String::new(),
        }
    }

    pub(crate) fn with(&self, trouble: Trouble) -> bool {
        !self.setting.without.contains(&trouble)
    }

    pub(crate) fn runs(&self) -> usize {
        self.documents.len()
    }

    pub(crate) fn say(&mut self, words: impl FnOnce() -> String) {
        if self.setting.trace {
            let _ = writeln!(self.log, "{}", words());
        }
    }

    /// A new process; a stranger has another version of a task.
    pub(crate) fn spawn(&mut self, stranger: bool) -> usize {
        self.lives += 1;
        let life = if stranger { other(self.lives) } else { self.lives };
        let link = Link::new(Arc::clone(&self.memory), Arc::clone(&self.board), life, self.setting.control);
        let skew = if self.with(Trouble::Clocks) { self.dice.below(200) as i64 - 100 } else { 0 };
        let clock = Arc::new(Skewed {
            base: Arc::clone(&self.clock),
            skew: ManualClock::new(Timestamp::from_millis(skew)),
        });
        let policies = [CommitPolicy::Coalesced, CommitPolicy::EverySavePoint];
        let drawn = policies[usize::from(self.dice.percent(40))];
        let policy = self.policy.unwrap_or(drawn);
        let care = self.care();
        self.judge.retries.insert(life, care.retries);
        let random = SeededRandom::new(self.dice.bits());
        let engine = Engine::new(link.clone(), tasks(&self.board, life, care))
            .with_random(Arc::new(random))
            .with_clock(clock.clone())
            .with_ids(self.ids.clone())
            .with_commit_policy(policy)
            .with_grace(GRACE);
        self.say(|| format!("process {life} begins: {policy:?}, clock {skew:+} ms, {care:?}"));
        let drives = (0..self.runs()).map(|_| None).collect();
        self.processes.push(Process { life, link, engine, clock, drives, requests: Vec::new() });
        self.processes.len() - 1
    }

    /// How the next life runs its tasks.
    fn care(&mut self) -> Care {
        if !self.board.rough() || !self.with(Trouble::Failures) {
            return Care::default();
        }
        let retries = self.dice.below(RETRIES_MAX as usize + 1) as u32;
        Care { retries, limited: self.dice.percent(30) }
    }

    /// A process dies: its futures are dropped where they are, and what it had sent may arrive or not.
    pub(crate) async fn crash(&mut self, index: usize) -> Result<(), Broken> {
        let process = self.processes.remove(index);
        let life = process.life;
        self.say(|| format!("process {life} crashes"));
        process.link.cut();
        for driving in process.drives.into_iter().flatten() {
            driving.join.abort();
        }
        for request in process.requests {
            request.abort();
        }
        for item in self.board.take_all(life) {
            if let Item::Apply { group, tx } = item {
                drop(tx);
                match self.dice.below(3) {
                    0 => self.apply(life, group).await.map(drop)?,
                    1 => self.orphans.push((life, group)),
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// Lets something arrive that a dead process had sent.
    pub(crate) async fn orphan(&mut self) -> Result<(), Broken> {
        if self.orphans.is_empty() {
            return Ok(());
        }
        let (life, group) = self.orphans.remove(self.dice.below(self.orphans.len()));
        self.say(|| format!("a commit that process {life} had sent arrives"));
        self.apply(life, group).await.map(drop)
    }

    pub(crate) fn forget_orphans(&mut self) {
        self.orphans.clear();
    }

    pub(crate) fn orphaned(&mut self, life: Life, group: Vec<Batch>) {
        self.orphans.push((life, group));
    }

    pub(crate) fn has_orphans(&self) -> bool {
        !self.orphans.is_empty()
    }

    /// Applies a group to the store, and judges what it did.
    pub(crate) async fn apply(
        &mut self,
        life: Life,
        group: Vec<Batch>,
    ) -> Result<crate::board::Answer, Broken> {
        let answer = self.memory.apply(group.clone()).await;
        self.board.wake();
        self.judge.applied(life, &group).await?;
        Ok(answer)
    }

    /// Runs everything until it waits for the schedule, and judges what happened.
    pub(crate) async fn settle(&mut self) -> Result<(), Broken> {
        // Time stands still unless nothing else can happen, so this ends when everything waits.
        tokio::time::sleep(Duration::from_millis(1)).await;
        self.hear()
    }

    /// Lets the scheduler turn so often, so that a crash may come between any two polls.
    pub(crate) async fn turn(&mut self, times: usize) -> Result<(), Broken> {
        for _ in 0..times {
            tokio::task::yield_now().await;
        }
        self.hear()
    }

    /// Moves all clocks, and lets whoever watches one notice.
    pub(crate) async fn pass(&mut self, millis: u64) -> Result<(), Broken> {
        self.say(|| format!("{millis} ms pass"));
        self.clock.advance(Duration::from_millis(millis));
        tokio::time::sleep(Duration::from_millis(1001)).await;
        self.hear()
    }

    pub(crate) fn jump(&mut self, index: usize) {
        let skew = self.dice.below(2000) as i64 - 1000;
        if let Some(process) = self.processes.get(index) {
            process.clock.skew.set(Timestamp::from_millis(skew));
            let life = process.life;
            self.say(|| format!("the clock of process {life} jumps to {skew:+} ms"));
        }
    }
}
