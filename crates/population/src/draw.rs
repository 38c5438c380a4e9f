//! One member of the population: a scenario, as a pure function of seed and number.

use core::fmt;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use polypath_experiments::store::Key;
use polypath_policies::profile::Profile;
use polypath_scenario::units::{Limit, Size};
use polypath_scenario::{FlowSpec, PathSpec, Scenario, ScenarioError, Seeds, Source, StackSpec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::application::Application;
use crate::dice::Cup;
use crate::feature::{Feature, draw_features};
use crate::generate::cellular::draw_trace;
use crate::generate::change::draw_changes;
use crate::generate::cross::draw_cross;
use crate::generate::disturb::disturb_links;
use crate::generate::length::{Length, fit_file, fit_length};
use crate::generate::network::{Network, draw_network, draw_plain_network};
use crate::generate::receiver::foreign_receiver;
use crate::generate::topology::{place_network, plain_links};
use crate::generate::traffic::{Writer, draw_application, packed_size, packet_bits, request_cycle};
use crate::quantity::{BUFFER, PLAIN};

/// A run that ends before so many round trips shows nothing but its set-up.
const FEWEST_ROUND_TRIPS: f64 = 8.0;
/// Impossible draws in a row, at most; a few in a hundred are impossible.
const MOST_ATTEMPTS: u32 = 1_000;

/// A population: as many draws as one asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Population {
    /// Below [`FIRST_REPORT_SEED`](Self::FIRST_REPORT_SEED) for tuning.
    pub seed: u64,
    /// Packets of data that one run may carry, about.
    pub packets: u64,
}

/// One network and what is sent over it.
#[derive(Clone, Debug)]
pub struct Draw {
    /// The population's seed.
    pub seed: u64,
    /// Its number in the population.
    pub number: u64,
    /// The scenario, as a file says it.
    pub text: String,
    /// Files that the scenario names, by name.
    pub files: BTreeMap<String, String>,
    /// The scenario, read back from the text.
    pub scenario: Scenario,
    /// What is sent.
    pub application: Application,
    /// What makes the network less than ideal.
    pub features: BTreeSet<Feature>,
    /// Draws before this one that were no scenarios.
    pub rejected: Vec<Impossible>,
}

/// Why a draw was taken again. There are no other reasons.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Impossible {
    /// The packets that a run may carry are gone before eight round trips of its longest path.
    TooFewRoundTrips,
}

impl fmt::Display for Impossible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooFewRoundTrips => {
                f.pad("the packets of a run last for less than eight round trips")
            }
        }
    }
}

/// Why there is no draw: a fault of this crate, or a budget that no network fits.
#[derive(Debug, thiserror::Error)]
pub enum DrawError {
    /// Nothing that was drawn is possible.
    #[error("packets = {0}: no network fits (allowed: at least 1000)")]
    NothingFits(u64),
    /// The scenario has no text.
    #[error("draw {number} of seed {seed} cannot be written: {error}")]
    Unwritten {
        /// The population's seed.
        seed: u64,
        /// The draw's number.
        number: u64,
        /// Why.
        error: toml::ser::Error,
    },
    /// The text is no scenario.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
}

impl Population {
    /// Seeds from here on are for reports: nothing is tuned on them, and nobody looks at their
    /// draws one by one.
    pub const FIRST_REPORT_SEED: u64 = 1_000_000;

    /// Draw number `number`, from 0 on.
    ///
    /// # Errors
    /// When the budget of packets fits no network.
    pub fn draw(&self, number: u64) -> Result<Draw, DrawError> {
        let mut rejected = Vec::new();
        for attempt in 0..MOST_ATTEMPTS {
            let cup = Cup { seed: self.seed, number, attempt };
            match Sketch::draw(cup, self.packets) {
                Ok(sketch) => return sketch.finish(*self, number, rejected),
                Err(impossible) => rejected.push(impossible),
            }
        }
        Err(DrawError::NothingFits(self.packets))
    }

    /// The name of a draw's scenario file, without its ending.
    pub fn file_stem(&self, number: u64) -> String {
        format!("draw-{}-{number}", self.seed)
    }
}

impl Draw {
    /// What names its run among all runs of this and other versions of the stack.
    pub fn key(&self) -> String {
        Key::of_run(&self.scenario, self.scenario.seeds.first, false).to_string()
    }
}

/// Everything that was drawn, before it is written.
struct Sketch {
    cup: Cup,
    application: Application,
    features: BTreeSet<Feature>,
    network: Network,
    flow: FlowSpec,
    buffer: u64,
    length: Length,
}

impl Sketch {
    fn draw(cup: Cup, packets: u64) -> Result<Self, Impossible> {
        let is_plain = cup.dice_for("plain").decide_with(PLAIN);
        let mut features = if is_plain { BTreeSet::new() } else { draw_features(cup) };
        let application = draw_application(cup, is_plain);
        let network = match is_plain {
            true => draw_plain_network(cup),
            false => draw_network(cup, &mut features),
        };
        let buffer = cup.dice_for("buffer").draw_whole(&BUFFER);
        let writer = Writer { cup, network: &network, buffer, packets };
        let mut flow = writer.draw_flow(application, &mut features);
        let length = match flow.size {
            Some(Size(bytes)) => fit_file(&network, bytes),
            None => {
                let others = features.contains(&Feature::CrossTraffic);
                let rate =
                    if others { network.most_carried(None) } else { writer.most_sent(&flow) };
                let seconds = packets as f64 * packet_bits(packed_size(&flow)) / rate;
                fit_length(&network, seconds, request_cycle(&flow, &network))
            }
        };
        flow.send_at = Some(length.source_start(&network));
        if length.total() < FEWEST_ROUND_TRIPS * network.longest_round_trip() {
            return Err(Impossible::TooFewRoundTrips);
        }
        Ok(Self { cup, application, features, network, flow, buffer, length })
    }

    fn finish(
        self,
        population: Population,
        number: u64,
        rejected: Vec<Impossible>,
    ) -> Result<Draw, DrawError> {
        let stem = population.file_stem(number);
        let (scenario, files) = self.write_scenario(population, number, &stem);
        let seed = population.seed;
        let text = toml::to_string(&scenario);
        let text = text.map_err(|error| DrawError::Unwritten { seed, number, error })?;
        let shelf: BTreeMap<PathBuf, String> =
            files.iter().map(|(name, text)| (PathBuf::from(name), text.clone())).collect();
        let source = Source::with_files(format!("{stem}.toml"), &text, Arc::new(shelf))?;
        let scenario = source.parse_scenario()?;
        let Self { application, features, .. } = self;
        Ok(Draw { seed, number, text, files, scenario, application, features, rejected })
    }

    fn write_scenario(
        &self,
        population: Population,
        number: u64,
        stem: &str,
    ) -> (Scenario, BTreeMap<String, String>) {
        let mut links = plain_links(&self.network);
        disturb_links(self.cup, &self.features, &mut links);
        let files = self.place_traces(stem, &mut links);
        let mut scenario = Scenario {
            title: Some(format!("Draw {number} of seed {}", population.seed)),
            description: Some(self.describe(population.packets)),
            at: draw_changes(self.cup, &self.features, &self.network, &self.length),
            cross: draw_cross(self.cup, &self.features, &self.network),
            stack: self.write_stack(),
            flow: vec![self.flow.clone()],
            time: self.length.spec(),
            seeds: Seeds { first: population.seed.wrapping_add(number), count: 1 },
            ..Scenario::default()
        };
        place_network(&self.network, links, &mut scenario);
        (scenario, files)
    }

    fn place_traces(&self, stem: &str, links: &mut [PathSpec]) -> BTreeMap<String, String> {
        let mut files = BTreeMap::new();
        for (number, (path, link)) in self.network.paths.iter().zip(links).enumerate() {
            if path.is_cellular {
                let name = format!("{stem}-{}.trace", Network::path_name(number));
                let mut dice = self.cup.dice_for(&format!("trace of path {number}"));
                files.insert(name.clone(), draw_trace(&mut dice, path.rate));
                link.forward.get_or_insert_default().trace = Some(name.into());
            }
        }
        files
    }

    fn write_stack(&self) -> StackSpec {
        let foreign = foreign_receiver(&self.features);
        // Of requests the asking end is the sender, and responses are what it receives.
        let asks = self.application == Application::Requests;
        let (sender, receiver) = if asks { (foreign, None) } else { (None, foreign) };
        StackSpec {
            profile: Some(Profile::Fast),
            send_buffer: Some(Limit::Bytes(Size(self.buffer))),
            receive_buffer: Some(Size(self.buffer)),
            sender,
            receiver,
            ..StackSpec::default()
        }
    }

    fn describe(&self, packets: u64) -> String {
        let features: Vec<&str> = self.features.iter().map(|feature| feature.words()).collect();
        let features =
            if features.is_empty() { "nothing else".into() } else { features.join(", ") };
        let length = match (self.length.is_file, self.length.is_cut) {
            (true, _) => "it ends with the file".to_owned(),
            (false, true) => format!("as long as {packets} packets last"),
            (false, false) => "the longer of 10 s and 30 round trips, twice, or more".to_owned(),
        };
        let application = self.application;
        format!("Drawn at random: {application}; {features}. How long: {length}.")
    }
}
