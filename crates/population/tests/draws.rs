//! What every draw is: a scenario that can be written and read, drawn from what the documentation
//! says.

use std::collections::{BTreeMap, BTreeSet};

use polypath_population::{Application, Draw, Feature, Population};
use polypath_run::read_scenario;
use polypath_scenario::units::{Limit, Size};
use polypath_scenario::{PathSpec, Scenario, Source};

const POPULATION: Population = Population { seed: 1, packets: 400_000 };
const DRAWS: u64 = 2_000;

fn draws() -> impl Iterator<Item = Draw> {
    (0..DRAWS).map(|number| POPULATION.draw(number).expect("every draw is a scenario"))
}

fn links(scenario: &Scenario) -> impl Iterator<Item = &PathSpec> {
    scenario.path.values().chain(scenario.link.values())
}

fn has_feature(scenario: &Scenario, feature: Feature) -> bool {
    let receiver = |blocks: Option<u16>| {
        let ends = [&scenario.stack.sender, &scenario.stack.receiver];
        ends.into_iter().flatten().any(|end| end.max_gap_blocks == blocks)
    };
    let any = |is: &dyn Fn(&PathSpec) -> bool| links(scenario).any(is);
    match feature {
        Feature::ThinWayBack => any(&|link| link.reverse.is_some()),
        Feature::Jitter => any(&|link| link.jitter.is_some() && link.reorder.is_none()),
        Feature::Overtaking => any(&|link| link.jitter.is_some() && link.reorder == Some(true)),
        Feature::RandomLoss => any(&|link| link.loss.is_some()),
        Feature::BurstLoss => any(&|link| link.bursts.is_some()),
        Feature::Dips | Feature::Steps => scenario.at.iter().any(|change| change.rate.is_some()),
        Feature::Flaps => scenario.at.iter().any(|change| change.action.is_some()),
        Feature::CrossTraffic => !scenario.cross.is_empty(),
        Feature::SharedBottleneck => scenario.route.len() > 1,
        Feature::Red => any(&|link| link.red.is_some()),
        Feature::CellularTrace => scenario.traces().count() > 0,
        Feature::LinuxReceiver => receiver(Some(16)),
        Feature::UsrsctpReceiver => receiver(None),
        Feature::WebrtcReceiver => receiver(Some(20)),
        Feature::UnequalMessages => {
            scenario.flow[0].message_most.is_some() || !scenario.flow[0].beside.is_empty()
        }
    }
}

/// Whether each draw has the features that it says it has is asked of its scenario.
#[test]
fn every_feature_and_every_application_is_in_a_tenth_of_the_draws() {
    let mut features: BTreeMap<Feature, u64> = BTreeMap::new();
    let mut applications: BTreeMap<Application, u64> = BTreeMap::new();
    let mut paths = BTreeSet::new();
    for draw in draws() {
        *applications.entry(draw.application).or_default() += 1;
        paths.insert(draw.scenario.path_names().count());
        for feature in draw.features {
            assert!(has_feature(&draw.scenario, feature), "{feature}:\n{}", draw.text);
            *features.entry(feature).or_default() += 1;
        }
    }
    for feature in Feature::ALL {
        assert!(features[&feature] * 10 >= DRAWS, "{feature}: {}", features[&feature]);
    }
    for application in Application::ALL {
        let count = applications[&application];
        assert!(count * 10 >= DRAWS, "{application}: {count}");
    }
    assert_eq!(paths, (1..=8).collect());
}

#[test]
fn quantities_fill_their_ranges_and_never_leave_them() {
    let (mut rates, mut delays, mut buffers) = (Vec::new(), Vec::new(), Vec::new());
    for draw in draws() {
        let scenario = &draw.scenario;
        rates.extend(scenario.path.values().map(|path| path.rate.expect("drawn").0 as f64));
        delays.extend(scenario.path.values().map(|path| path.delay.expect("drawn").0 as f64));
        let Some(Size(buffer)) = scenario.stack.receive_buffer else { panic!("no buffer") };
        assert_eq!(scenario.stack.send_buffer, Some(Limit::Bytes(Size(buffer))));
        buffers.push(buffer as f64);
    }
    for (values, low, high) in [
        (rates, 64e3, 1e9),
        (delays, 50e3, 600e6),
        (buffers, f64::from(32 << 10), f64::from(128 << 20)),
    ] {
        let (least, most) = values.iter().fold((f64::MAX, 0.0_f64), |(least, most), value| {
            (least.min(*value), most.max(*value))
        });
        // Three digits may lie half a per cent beside what was drawn.
        assert!(least >= 0.995 * low && most <= 1.005 * high, "{least} {most}");
        assert!(least <= 1.2 * low && most >= high / 1.2, "{least} {most}");
        let middle = (low * high).sqrt();
        let below = values.iter().filter(|value| **value < middle).count() as f64;
        assert!((below / values.len() as f64 - 0.5).abs() < 0.05, "log-uniform: {below}");
    }
}

#[test]
fn a_draw_is_a_pure_function_of_seed_and_number() {
    for number in [0, 7, 1_999] {
        let (one, two) = (POPULATION.draw(number).unwrap(), POPULATION.draw(number).unwrap());
        assert_eq!((&one.text, &one.files), (&two.text, &two.files));
        let other = Population { seed: 2, ..POPULATION }.draw(number).unwrap();
        assert_ne!(one.text, other.text);
    }
    assert_ne!(POPULATION.draw(0).unwrap().text, POPULATION.draw(1).unwrap().text);
}

#[test]
fn what_is_written_reads_back_to_the_same() {
    for draw in draws().take(500) {
        let files: BTreeMap<_, _> =
            draw.files.iter().map(|(name, text)| (name.into(), text.clone())).collect();
        let name = format!("{}.toml", POPULATION.file_stem(draw.number));
        let source = Source::with_files(name, &draw.text, std::sync::Arc::new(files)).unwrap();
        let read = read_scenario(&source).unwrap();
        assert_eq!(read, draw.scenario);
        assert_eq!(toml::to_string(&read).unwrap(), draw.text);
    }
}

fn most_carried(link: &PathSpec, buffer: u64) -> f64 {
    let round_trip = 2.0 * link.delay.expect("drawn").as_secs_f64();
    (link.rate.expect("drawn").0 as f64).min(8.0 * buffer as f64 / round_trip)
}

/// bit/s of responses at most, of requests that wait for one another: the pause, a round trip and
/// the response over the path that is best for it.
fn most_answered(scenario: &Scenario) -> f64 {
    let flow = &scenario.flow[0];
    let Some(Size(response)) = flow.response else { return f64::INFINITY };
    let bits = 8.0 * response as f64;
    let answered = |link: &PathSpec| {
        let rate = link.rate.expect("drawn").0 as f64;
        2.0 * link.delay.expect("drawn").as_secs_f64() + bits / rate
    };
    let fastest = links(scenario).map(answered).fold(f64::INFINITY, f64::min);
    bits / (flow.think.expect("drawn").as_secs_f64() + fastest)
}

#[test]
fn runs_carry_no_more_packets_than_they_may() {
    for packets in [20_000, 100_000, 400_000] {
        let population = Population { packets, ..POPULATION };
        for number in 0..200 {
            let draw = population.draw(number).unwrap();
            let time = &draw.scenario.time;
            let Some(measure) = time.measure else { continue };
            if draw.features.contains(&Feature::SharedBottleneck) {
                continue;
            }
            let seconds = measure.as_secs_f64() + time.settle.unwrap_or_default().as_secs_f64();
            // A path carries a whole buffer per round trip at most.
            let Some(Size(buffer)) = draw.scenario.stack.receive_buffer else { panic!() };
            let rate: f64 = links(&draw.scenario).map(|link| most_carried(link, buffer)).sum();
            let rate = rate.min(most_answered(&draw.scenario));
            let most = packets as f64 * 12_000.0 * 1.02;
            assert!(rate * seconds <= most, "{number}: {}", rate * seconds / 12_000.0);
        }
    }
}

#[test]
fn few_draws_are_impossible() {
    let rejected: usize = draws().map(|draw| draw.rejected.len()).sum();
    assert!(rejected as u64 * 20 < DRAWS, "{rejected}");
}
