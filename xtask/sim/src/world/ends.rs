//! What futures report, and whether they may.

use jaren_engine::{EngineError, ErrorKind, Rebound, Rejection, RunFailure, Sent, Status};

use super::{Driving, Trouble, World};
use crate::board::{Life, News};
use crate::document::Edition;
use crate::judge::Broken;
use crate::link::Control;
use crate::tasks::is_other;

impl World {
    /// Takes in what happened since, and judges it.
    pub(crate) fn hear(&mut self) -> Result<(), Broken> {
        for news in self.board.take_news() {
            self.say(|| format!("    {news:?}"));
            match news {
                News::Started(life, task) => {
                    let run = task.run;
                    self.judge.called(life, &task).map_err(|broken| format!("run {run}: {broken}"))?;
                }
                News::Told(run, generation) => {
                    self.judge.told(run, generation).map_err(|broken| format!("run {run}: {broken}"))?;
                }
                News::Driven { life, run, ended, last } => {
                    self.driven(life, run, ended, last).map_err(|broken| format!("run {run}: {broken}"))?;
                }
                News::Sent { run, id, ended } => self.sent(run, &id, ended)?,
                News::Rebound { run, actor, edition, over, ended } => self
                    .rebound(run, &actor, edition, over, ended)
                    .map_err(|broken| format!("run {run}: {broken}"))?,
                News::Broken(run, broken) => return Err(format!("run {run}: {broken}")),
                News::Probed(life, run, ended) => {
                    self.ended(life, run);
                    let refused = matches!(&ended, Err(error) if error.kind() == ErrorKind::Changed);
                    if !refused && !matches!(&ended, Err(error) if self.is_trouble(error)) {
                        return Err(format!("run {run}: another input was not refused: {ended:?}"));
                    }
                }
            }
        }
        self.panicked()
    }

    fn ended(&mut self, life: Life, run: usize) -> Option<Driving> {
        let process = self.processes.iter_mut().find(|process| process.life == life)?;
        process.drives.get_mut(run)?.take()
    }

    fn driven(
        &mut self,
        life: Life,
        run: usize,
        ended: Option<Result<Status, EngineError>>,
        last: bool,
    ) -> Result<(), Broken> {
        let process = self.processes.iter_mut().find(|process| process.life == life);
        let Some(place) = process.and_then(|process| process.drives.get_mut(run)) else { return Ok(()) };
        let Some(driving) = place else { return Ok(()) };
        let (stopped, before, poor) = (driving.stopped, driving.writes, driving.poor);
        if last {
            *place = None;
        } else if let Some(track) = self.judge.runs.get(run) {
            // What this handle wrote itself is no rival's; its own claim counts at least once.
            driving.writes = track.writes;
        }
        let writes = self.judge.runs.get(run).map_or(0, |track| track.writes);
        let verdict = match &ended {
            None | Some(Ok(Status::Waiting { .. })) => Ok(()),
            Some(Ok(Status::Done { .. })) if self.judge.is_done(run) => Ok(()),
            Some(Ok(Status::Done { .. })) => Err("it is done, but not in the store".to_owned()),
            Some(Ok(Status::Interrupted)) if stopped => Ok(()),
            Some(Ok(Status::Interrupted)) => Err("it was interrupted by nobody".to_owned()),
            Some(Ok(Status::Failed { failure })) => self.may_fail(failure),
            Some(Ok(other)) => Err(format!("its drive ended with {other:?}")),
            Some(Err(error)) => match error.kind() {
                ErrorKind::Fenced if writes > before || !self.judge.holds(run, life) => Ok(()),
                ErrorKind::Fenced => Err("it was fenced by nobody".to_owned()),
                // A start names the first document.
                ErrorKind::Changed if is_other(life) || self.judge.was_rebound(run) => Ok(()),
                _ if poor && error.code() == "JE0009" => Ok(()),
                ErrorKind::NotFound if !self.judge.exists(run) => Ok(()),
                // A process that was told too early reads less than it wrote; the laws are to notice it.
                ErrorKind::Unreadable if self.setting.control == Some(Control::EarlyAcknowledgement) => {
                    Ok(())
                }
                _ if self.is_trouble(error) => Ok(()),
                _ => Err(format!("its drive failed: {error:?}")),
            },
        };
        self.last = ended;
        verdict
    }

    /// A task that failed, a guard that broke, a state that was entered too often.
    fn may_fail(&self, failure: &RunFailure) -> Result<(), Broken> {
        match &*failure.code {
            "JF2006" if self.with(Trouble::Failures) => Ok(()),
            "JF2015" | "JF2016" => Ok(()),
            _ => Err(format!("it failed: {failure:?}")),
        }
    }

    /// The store failed, as it does here.
    fn is_trouble(&self, error: &EngineError) -> bool {
        error.kind() == ErrorKind::Storage && (self.board.faulty() || self.script.fault.is_some())
    }

    fn rebound(
        &self,
        run: usize,
        actor: &str,
        edition: Edition,
        over: bool,
        ended: Result<Rebound, EngineError>,
    ) -> Result<(), Broken> {
        match ended {
            Ok(rebound) if self.judge.has_rebound(run, actor, rebound.generation, edition) => Ok(()),
            Err(error) if error.kind() == ErrorKind::NotFound && !self.judge.exists(run) => Ok(()),
            // Values of other work are saved, or other input was.
            Err(error) if error.kind() == ErrorKind::Unfit && (!over || self.judge.is_done(run)) => Ok(()),
            Err(error) if self.is_trouble(&error) => Ok(()),
            Err(_) if self.setting.control.is_some() => Ok(()),
            ended => Err(format!("the rebinding of {actor} ended with {ended:?}")),
        }
    }

    fn sent(&mut self, run: usize, id: &str, ended: Result<Sent, EngineError>) -> Result<(), Broken> {
        match ended {
            Ok(
                Sent::Stored { .. }
                | Sent::Repeated { .. }
                | Sent::Rejected { reason: Rejection::IdTaken, .. },
            ) if self.judge.has_event(run, id) => Ok(()),
            Ok(Sent::Rejected { reason: Rejection::Done, .. }) if self.judge.is_done(run) => Ok(()),
            Err(error) if error.kind() == ErrorKind::NotFound && !self.judge.exists(run) => Ok(()),
            Err(error) if self.is_trouble(&error) => Ok(()),
            ended => Err(format!("run {run}: sending {id} ended with {ended:?}")),
        }
    }

    /// No future of ours may panic.
    fn panicked(&self) -> Result<(), Broken> {
        let drives = self.processes.iter().flat_map(|process| process.drives.iter().flatten());
        for driving in drives {
            if driving.join.is_finished() && !driving.probes {
                return Err("a drive ended without a word: it panicked".to_owned());
            }
        }
        Ok(())
    }
}
