//! One history: from a seed to a verdict.

use crate::causes::Coverage;
use crate::dice::Dice;
use crate::judge::Broken;
use crate::plan::Growth;
use crate::tasks::is_other;
use crate::world::acts::{BREAKS, Manner, REFUSED, TAKEN, input};
use crate::world::{Setting, Trouble, World};
use jaren_engine::Status;
use jaren_json::Value;

/// After so many steps trouble ends, and every run must come to its end.
const STEPS: usize = 90;
/// How many things may have to happen for that, for each run.
const PATIENCE: usize = 600;

/// What a history came to.
#[derive(Debug)]
pub(crate) struct Verdict {
    pub(crate) broken: Option<Broken>,
    pub(crate) coverage: Coverage,
    /// Equal for equal histories.
    pub(crate) digest: u64,
    pub(crate) steps: u64,
    /// What was stored of the first run, in order, without what tells of attempts alone.
    pub(crate) saves: Vec<Value>,
    pub(crate) log: String,
}

/// The setting that a seed chooses, where nobody else does.
pub(crate) fn drawn(seed: u64) -> (usize, usize) {
    let mut dice = Dice::new(seed ^ 0x5e77_1465);
    (1 + dice.below(3), 1 + dice.below(3))
}

/// The history of a seed.
pub(crate) fn run(seed: u64, setting: &Setting) -> Verdict {
    let mut dice = Dice::new(seed);
    let mut growth = dice.fork();
    let plans = (0..setting.runs.unwrap_or(1)).map(|run| {
        let plan = Growth::new(&mut growth).plan();
        (plan, input(run, &mut growth))
    });
    let mut world = World::new(setting.clone(), dice, plans.collect(), true);
    in_one_thread(async move {
        let mut steps = 0;
        let broken = world.all(&mut steps).await.err();
        verdict(world, broken, steps)
    })
}

/// Runs a future on a runtime of its own, where time passes only when nothing else can happen.
pub(crate) fn in_one_thread<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.expect("a runtime without I/O starts").block_on(future)
}

pub(crate) fn verdict(world: World, broken: Option<Broken>, steps: u64) -> Verdict {
    let World { judge, log, .. } = world;
    let saves = judge.saves(0);
    Verdict { broken, coverage: judge.coverage, digest: judge.digest, steps, saves, log }
}

impl World {
    async fn all(&mut self, steps: &mut u64) -> Result<(), Broken> {
        for _ in 0..self.setting.processes.unwrap_or(1) {
            self.spawn(false);
        }
        for _ in 0..STEPS {
            *steps += 1;
            self.step().await?;
        }
        self.calm().await?;
        let mut run = 0;
        while run < self.runs() {
            self.finish(run, &[], steps).await?;
            run += 1;
        }
        Ok(())
    }

    /// One step of the schedule.
    async fn step(&mut self) -> Result<(), Broken> {
        let pending = self.board.pending();
        let index = self.dice.below(self.processes.len());
        let run = self.dice.below(self.runs());
        match self.dice.below(100) {
            0..3 if self.with(Trouble::Crashes) => {
                if pending > 0 && self.dice.percent(50) {
                    // Between any two polls after something ended.
                    self.open(self.dice.clone().below(pending)).await?;
                    let turns = self.dice.below(5);
                    self.turn(turns).await?;
                }
                self.crash(index).await?;
                let stranger = self.with(Trouble::Strangers) && self.dice.percent(10);
                self.spawn(stranger);
            }
            3..9 if self.with(Trouble::Events) => self.random_send(index, run),
            9..11 if self.with(Trouble::Events) => self.send_again(index),
            11..15 => {
                let millis = self.dice.below(250) as u64;
                return self.pass(millis).await;
            }
            15 if self.with(Trouble::Clocks) => self.jump(index),
            16..18 if self.with(Trouble::Stops) => {
                let drops = self.dice.percent(50);
                self.stop(index, run, drops);
            }
            18..20 => self.orphan().await?,
            20..23 if self.setting.control.is_some() => self.catch_up().await?,
            23..25 if self.with(Trouble::Rebinds) => self.rebind(index, run),
            23..46 => self.random_drive(index, run),
            _ if pending > 0 => {
                let which = self.dice.below(pending);
                self.open(which).await?;
            }
            _ => self.random_drive(index, run),
        }
        self.settle().await
    }

    /// Nobody drives the run in that process.
    fn is_idle(&self, index: usize, run: usize) -> bool {
        let drives = self.processes.get(index).and_then(|process| process.drives.get(run));
        drives.is_some_and(Option::is_none)
    }

    fn random_drive(&mut self, index: usize, run: usize) {
        if !self.is_idle(index, run) {
            return;
        }
        let exists = self.judge.exists(run);
        if !exists && self.processes.get(index).is_some_and(|process| is_other(process.life)) {
            return; // what a stranger begins is its own
        }
        let probes = exists && self.with(Trouble::Strangers) && self.dice.percent(3);
        let stays = self.dice.percent(60);
        let poor = self.with(Trouble::Failures) && self.dice.percent(2);
        let start = !exists || self.dice.percent(30);
        let manner = Manner { start, stays, again: self.dice.below(3), probes, poor };
        let other = (run + 1) % self.runs();
        let both = other != run && self.judge.exists(other) && self.is_idle(index, other);
        if both && !probes && exists && self.dice.percent(20) {
            return self.drive_both(index, [run, other], manner);
        }
        self.drive(index, run, manner);
    }

    fn random_send(&mut self, index: usize, run: usize) {
        let kind = ["go", "go", "go", "other", "noise"][self.dice.below(5)];
        let q = match self.dice.below(10) {
            0 => BREAKS,
            1..4 => REFUSED,
            q => q as u64,
        };
        self.send(index, run, kind, q);
    }

    /// Trouble ends: whoever is left is gone, and one sound process remains.
    pub(crate) async fn calm(&mut self) -> Result<(), Broken> {
        self.say(|| "--- trouble ends".to_owned());
        while !self.processes.is_empty() {
            self.crash(0).await?;
            self.settle().await?;
        }
        while self.has_orphans() && self.dice.percent(50) {
            self.orphan().await?;
        }
        self.forget_orphans();
        self.board.calm();
        self.spawn(false);
        Ok(())
    }

    /// Drives a run to its end, and judges it. `answers` is what the waits are given, in order; then events that they
    /// take.
    pub(crate) async fn finish(
        &mut self,
        run: usize,
        answers: &[Reply],
        steps: &mut u64,
    ) -> Result<(), Broken> {
        let mut answers = answers.iter().copied();
        for _ in 0..PATIENCE {
            *steps += 1;
            if self.processes.first().is_none_or(|process| process.link.is_dead()) {
                if !self.processes.is_empty() {
                    self.crash(0).await?;
                    self.settle().await?;
                }
                self.spawn(false);
            }
            self.drive_through(run, steps).await?;
            match self.last.take() {
                Some(Ok(Status::Done { .. })) => return self.settled(run),
                Some(Ok(Status::Failed { failure })) if failure.code == "JF2015" => return self.settled(run),
                Some(Ok(Status::Waiting { .. })) | None => {
                    let reply = answers.next().unwrap_or(Reply::Take);
                    self.reply(run, reply).await?;
                }
                // A task that failed, a guard that broke, a process that died: it is driven again.
                Some(_) => {}
            }
        }
        Err(format!("run {run} does not come to its end"))
    }

    fn settled(&self, run: usize) -> Result<(), Broken> {
        self.judge.settle(run).map_err(|broken| format!("run {run}: {broken}"))
    }

    /// Gives a wait something. What it does not ask for, it is not given: then time passes.
    async fn reply(&mut self, run: usize, reply: Reply) -> Result<(), Broken> {
        if !self.judge.waits_for_events(run) || reply == Reply::Time {
            return self.pass(500).await;
        }
        match reply {
            Reply::Take | Reply::Time => self.send(0, run, "go", TAKEN),
            Reply::Other => self.send(0, run, "other", TAKEN),
            Reply::Refuse => self.send(0, run, "go", REFUSED),
            Reply::RefuseThenTake => {
                for q in [REFUSED, REFUSED] {
                    self.send(0, run, "go", q);
                    self.quiet().await?;
                }
                self.send(0, run, "go", TAKEN);
            }
            Reply::Break => self.send(0, run, "go", BREAKS),
        }
        self.quiet().await
    }

    /// Lets everything end that is pending, in its order.
    async fn quiet(&mut self) -> Result<(), Broken> {
        self.settle().await?;
        while self.board.pending() > 0 {
            self.open(0).await?;
            self.settle().await?;
        }
        Ok(())
    }

    /// Drives until the drive ends, or rests.
    async fn drive_through(&mut self, run: usize, steps: &mut u64) -> Result<(), Broken> {
        self.last = None;
        let drives = |world: &World| {
            let drives = world.processes.first().and_then(|process| process.drives.get(run));
            drives.is_some_and(Option::is_some)
        };
        if !drives(self) {
            let start = !self.judge.exists(run);
            self.drive(0, run, Manner { start, stays: self.parked, again: 0, probes: false, poor: false });
            self.settle().await?;
        }
        // A commit that waits before it is tried again leaves nothing pending for a moment.
        let mut idle = 0;
        for _ in 0..PATIENCE {
            if !drives(self) || idle > 2 {
                break;
            }
            *steps += 1;
            if self.board.pending() > 0 {
                self.open(0).await?;
                idle = 0;
            } else {
                idle += 1;
            }
            self.settle().await?;
        }
        Ok(())
    }
}

/// What a wait is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    /// An event that it takes.
    Take,
    /// An event of the second type.
    Other,
    /// An event that it refuses.
    Refuse,
    /// Two of those, then one that it takes, before it is driven again.
    RefuseThenTake,
    /// An event over which its guard fails.
    Break,
    /// Time.
    Time,
}
