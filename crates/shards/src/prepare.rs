//! From a command's words to a plan, and from a plan to its runs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use polypath_experiments::carried::Carried;
use polypath_experiments::experiment::Experiment;
use polypath_experiments::reproduce::{
    Job, Options, Study, collect_jobs, estimate_cost, prepare_study, prepare_sweep,
};
use polypath_population::{Plan as PopulationPlan, Population};
use polypath_scenario::{Files, Policies, Source};

use crate::bundle::Recorder;
use crate::error::ShardError;
use crate::plan::{Plan, SeedRange, Work};

/// What a plan is about, ready to be run or judged.
#[derive(Debug)]
pub enum Prepared {
    /// A sweep.
    Sweep {
        /// Its points, with the seeds of this round and of those before it.
        study: Box<Study>,
        /// What is reported.
        metrics: Vec<String>,
    },
    /// Experiments.
    Reproduce(Vec<Study>),
    /// A population.
    Population(PopulationPlan),
}

impl Plan {
    /// Plans a sweep. `source` has its axes; files that it names become part of the plan.
    ///
    /// # Errors
    /// When the scenario is wrong, or names a scheduler that no file has.
    pub fn of_sweep(
        source: Source,
        policies: &Policies,
        seeds: SeedRange,
        metrics: &[String],
    ) -> Result<Self, ShardError> {
        let folder = Path::new(source.name()).parent().unwrap_or(Path::new("")).to_owned();
        let mut recorder = None;
        let source = source.wrap_files(|files| {
            let own = Recorder::new(files, Some((folder, policies.clone())));
            recorder = Some(Arc::clone(&own));
            own
        });
        let (name, scenario) = (source.name().to_owned(), source.resolved());
        let study = prepare_sweep(source, seeds.to, metrics)?;
        refuse_own_schedulers(&study, policies)?;
        // What a run is known by has every file in it, so all of them have been read now.
        drop(collect_jobs([&study]));
        let files = recorder.map(|recorder| recorder.files()).unwrap_or_default();
        Self::new(Work::Sweep { name, scenario, metrics: metrics.to_vec(), seeds }, files)
    }

    /// Plans experiments, of the files `carried` by the program or of this machine.
    ///
    /// # Errors
    /// When a file is wrong.
    pub fn of_experiments(
        files: Arc<dyn Files>,
        carried: bool,
        experiments: Vec<PathBuf>,
        options: Options,
    ) -> Result<Self, ShardError> {
        let recorder = Recorder::new(files, None);
        for path in &experiments {
            let files: Arc<dyn Files> = Arc::<Recorder>::clone(&recorder);
            drop(collect_jobs([&prepare_study(Experiment::from_files(files, path)?, options)?]));
        }
        let Options { quick, seeds, sensitivity } = options;
        let work = Work::Reproduce { experiments, carried, quick, seeds, sensitivity };
        Self::new(work, if carried { BTreeMap::new() } else { recorder.files() })
    }

    /// Plans a population.
    ///
    /// # Errors
    /// When a scheduler is of this process alone.
    pub fn of_population(plan: &PopulationPlan) -> Result<Self, ShardError> {
        for name in &plan.schedulers {
            let is_built_in = plan.policies.own_scheduler(name).is_ok_and(|own| own.is_none());
            let has_file = !matches!(plan.policies.file_of_scheduler(name), Ok(None));
            if !is_built_in || has_file {
                return Err(ShardError::OwnScheduler(name.clone()));
            }
        }
        let Population { seed, packets } = plan.population;
        let (draws, schedulers) = (plan.draws, plan.schedulers.clone());
        Self::new(Work::Population { seed, packets, draws, schedulers }, BTreeMap::new())
    }

    /// What there is to run.
    ///
    /// # Errors
    /// When the plan's scenario or experiments make no sense to this program.
    pub fn prepare(&self) -> Result<Prepared, ShardError> {
        Ok(match &self.work {
            Work::Sweep { name, scenario, metrics, seeds } => {
                let source = Source::with_files(name, scenario, Arc::new(self.files.clone()))?;
                let study = Box::new(prepare_sweep(source, seeds.to, metrics)?);
                Prepared::Sweep { study, metrics: metrics.clone() }
            }
            Work::Reproduce { experiments, carried, quick, seeds, sensitivity } => {
                let files: Arc<dyn Files> =
                    if *carried { Arc::new(Carried) } else { Arc::new(self.files.clone()) };
                let options = Options { quick: *quick, seeds: *seeds, sensitivity: *sensitivity };
                let study = |path: &PathBuf| {
                    let experiment = Experiment::from_files(Arc::clone(&files), path)?;
                    prepare_study(experiment, options)
                };
                Prepared::Reproduce(experiments.iter().map(study).collect::<Result<_, _>>()?)
            }
            Work::Population { seed, packets, draws, schedulers } => {
                Prepared::Population(PopulationPlan {
                    population: Population { seed: *seed, packets: *packets },
                    draws: *draws,
                    schedulers: schedulers.clone(),
                    jobs: 0,
                    policies: Policies::default(),
                })
            }
        })
    }

    /// The runs of this round.
    pub(crate) fn choose_jobs(&self, prepared: &Prepared) -> Vec<Job> {
        let mut jobs = match prepared {
            Prepared::Sweep { study, .. } => collect_jobs([study.as_ref()]),
            Prepared::Reproduce(studies) => collect_jobs(studies),
            Prepared::Population(_) => Vec::new(),
        };
        if let Work::Sweep { seeds, .. } = &self.work {
            let first = |job: &Job| job.scenario.seeds.first.saturating_add(seeds.from.into());
            jobs.retain(|job| job.seed >= first(job));
        }
        jobs
    }

    /// How many runs or draws this round has, and about how many ms of one core they take.
    ///
    /// # Errors
    /// See [`prepare`](Self::prepare).
    pub fn estimate(&self) -> Result<(usize, f64), ShardError> {
        let prepared = self.prepare()?;
        if let Prepared::Population(plan) = &prepared {
            let runs = plan.draws as f64 * (3.0 + plan.schedulers.len() as f64);
            // A packet of a run takes about 2 us.
            return Ok((plan.draws as usize, runs * plan.population.packets as f64 * 2e-3));
        }
        let jobs = self.choose_jobs(&prepared);
        Ok((jobs.len(), jobs.iter().map(estimate_cost).sum()))
    }
}

/// Schedulers that only this process has cannot be run elsewhere.
fn refuse_own_schedulers(study: &Study, policies: &Policies) -> Result<(), ShardError> {
    let points = study.points.grids.iter().flat_map(|grid| &grid.points);
    for point in points {
        let scenario = &point.scenario;
        let layers = (0..scenario.flow.len())
            .map(|flow| polypath_scenario::profile::Layers::for_flow(scenario, flow));
        for name in layers.map(|layers| layers.sender().policies.path_scheduler.to_string()) {
            if policies.own_scheduler(&name).is_ok_and(|own| own.is_some()) {
                return Err(ShardError::OwnScheduler(name));
            }
        }
    }
    Ok(())
}
