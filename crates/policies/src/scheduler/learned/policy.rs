//! The interval policy that asks a network.

use std::sync::Arc;

use polypath_proto::time::{Duration, Time};

use super::error::LearnedError;
use super::file;
use super::net::{Net, Scratch};
use crate::scheduler::interval::{
    Action, Interval, IntervalPolicy, Observation, PATH_FIGURES, PathAction,
};

/// The least cwnd factor: a quarter of its window keeps a path measured.
const LEAST_FACTOR: f64 = 0.25;

/// A small neural network that weighs the paths.
///
/// It is applied to each usable path. Its 30 inputs are the path's figures ([`PATH_FIGURES`]),
/// those of the association ([`ASSOC_FIGURES`](crate::scheduler::interval::ASSOC_FIGURES)), and the
/// mean of the figures of all usable paths. The first output is the logit of the path's weight:
/// weights are in proportion to exp(logit) (softmax; the largest is 1). The second, if there is
/// one, gives the cwnd factor: 0.25 + 0.75 / (1 + exp(-output)). Paths that are not usable have
/// weight 0.
///
/// # The file
/// JSON, at most 1 MiB:
///
/// | field | is |
/// |---|---|
/// | `format` | `"polypath-learned"` |
/// | `version` | 1, of the format |
/// | `observation` | 1, the [version](crate::scheduler::interval::VERSION) of the figures |
/// | `every_ms` | the interval, 1 to 60000 ms; 10 where it is left out |
/// | `layers` | 1 to 8 layers, the first of which sees the inputs |
/// | `layers[].weights` | rows of a number per input, for 1 to 256 units (last layer: 1 or 2) |
/// | `layers[].bias` | a number for each unit |
/// | `layers[].activation` | `"tanh"`, `"relu"` or `"linear"` |
///
/// Numbers are rounded to f32, and must be finite; sums are f64, from the bias on in the order of
/// the inputs, and outputs of a layer are kept within ±1e30.
///
/// ```
/// use polypath_policies::scheduler::Learned;
///
/// // One layer: less weight the longer the round trip (the third figure) is.
/// let mut row = [0.0; 30];
/// row[2] = -4.0;
/// let text = format!(
///     r#"{{"format": "polypath-learned", "version": 1, "observation": 1, "every_ms": 20,
///         "layers": [{{"weights": [{row:?}], "bias": [0.0], "activation": "linear"}}]}}"#
/// );
/// let learned = Learned::from_json(&text)?;
/// assert_eq!(learned.every().as_millis(), 20);
/// let scheduler = learned.into_scheduler();
/// # drop(scheduler);
/// # Ok::<(), polypath_policies::scheduler::LearnedError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Learned {
    net: Arc<Net>,
    every: Duration,
    scratch: Scratch,
    /// Logits and cwnd factors of the paths; `None` where one is not usable.
    answers: Vec<Option<(f64, f32)>>,
}

impl Learned {
    /// The network in the text of a file.
    ///
    /// # Errors
    /// [`LearnedError`] when the text is not what the [file](Self#the-file) may be.
    pub fn from_json(text: &str) -> Result<Self, LearnedError> {
        let (net, every) = file::read(text)?;
        let scratch = Scratch::default();
        Ok(Self { net: Arc::new(net), every, scratch, answers: Vec::new() })
    }

    /// The interval in which it is to be asked.
    pub const fn every(&self) -> Duration {
        self.every
    }

    /// The path scheduler that asks it in its interval.
    pub fn into_scheduler(self) -> Interval<Self> {
        let every = self.every;
        Interval::new(self, every)
    }

    /// The logit of a path's weight, and its cwnd factor.
    fn ask(&mut self, path: &[f32], assoc: &[f32], mean: &[f64]) -> (f64, f32) {
        let figures = path.iter().chain(assoc).map(|&figure| f64::from(figure));
        self.scratch.values.clear();
        self.scratch.values.extend(figures.chain(mean.iter().copied()));
        self.net.apply(&mut self.scratch);
        let mut outputs = self.scratch.values.iter().copied();
        let logit = outputs.next().unwrap_or(0.0);
        (logit, outputs.next().map_or(1.0, cwnd_factor))
    }
}

impl IntervalPolicy for Learned {
    fn decide(&mut self, _now: Time, observation: &Observation) -> Action {
        let mean = usable_mean(observation);
        self.answers.clear();
        for path in observation.paths() {
            let answer = Observation::is_usable(path);
            let answer = answer.then(|| self.ask(path, observation.assoc(), &mean));
            self.answers.push(answer);
        }
        let logits = self.answers.iter().flatten().map(|(logit, _)| *logit);
        let largest = logits.fold(f64::NEG_INFINITY, f64::max);
        let actions = self.answers.iter().map(|answer| match *answer {
            Some((logit, cwnd_factor)) => {
                PathAction { weight: libm::exp(logit - largest) as f32, cwnd_factor }
            }
            None => PathAction { weight: 0.0, cwnd_factor: 1.0 },
        });
        // It cannot be refused: weights are at most 1, and factors within a quarter and 1.
        Action::from_paths(actions).unwrap_or_default()
    }

    fn name(&self) -> &'static str {
        "learned"
    }
}

fn cwnd_factor(output: f64) -> f32 {
    (LEAST_FACTOR + (1.0 - LEAST_FACTOR) / (1.0 + libm::exp(-output))) as f32
}

/// The mean figures of the usable paths. As figures have few digits, the sums are exact, whatever
/// the order of the paths.
fn usable_mean(observation: &Observation) -> [f64; PATH_FIGURES.len()] {
    let mut sums = [0.0; PATH_FIGURES.len()];
    let mut count = 0.0_f64;
    for path in observation.paths().iter().filter(|path| Observation::is_usable(path)) {
        count += 1.0;
        sums.iter_mut().zip(path).for_each(|(sum, &figure)| *sum += f64::from(figure));
    }
    sums.map(|sum| sum / count.max(1.0))
}
