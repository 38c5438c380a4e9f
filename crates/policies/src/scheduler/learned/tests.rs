use polypath_proto::time::{Duration, Time};
use proptest::prelude::*;

use super::*;
use crate::registry::Registry;
use crate::scheduler::interval::{Action, IntervalPolicy, Observation, PATH_FIGURES, PathAction};

/// A file with these layers.
fn file(layers: &str) -> String {
    let head = r#""format": "polypath-learned", "version": 1, "observation": 1"#;
    format!("{{{head}, \"every_ms\": 10, \"layers\": [{layers}]}}")
}

fn layer(weights: &[Vec<f32>], bias: &[f32], activation: &str) -> String {
    format!(r#"{{"weights": {weights:?}, "bias": {bias:?}, "activation": "{activation}"}}"#)
}

/// 30 weights, all 0 but these.
fn row(set: &[(usize, f32)]) -> Vec<f32> {
    let mut row = vec![0.0; 30];
    set.iter().for_each(|&(i, weight)| row[i] = weight);
    row
}

fn learned(layers: &str) -> Learned {
    Learned::from_json(&file(layers)).expect("valid")
}

/// Paths that are usable, of these figures `srtt`.
fn observation(srtts: &[f32]) -> Observation {
    let path = |&srtt: &f32| {
        let mut figures = [0.0; PATH_FIGURES.len()];
        (figures[0], figures[2]) = (1.0, srtt);
        figures
    };
    Observation::from_figures(srtts.iter().map(path).collect(), [0.0, 0.0, 0.0, 0.0, 0.0, 0.5])
}

fn decide(learned: &mut Learned, observation: &Observation) -> Vec<PathAction> {
    let action = learned.decide(Time::ZERO, observation);
    (0..observation.paths().len()).map(|path| action.path(path)).collect()
}

#[test]
fn a_network_by_hand() {
    // Hidden: tanh(srtt - mean srtt), relu(elapsed - 1 / 4). Logit: -2 times the first, factor's: 4
    // times the second, less 1.
    let hidden = [row(&[(2, 1.0), (20, -1.0)]), row(&[(17, 1.0)])];
    let layers =
        [layer(&[hidden[0].clone()], &[0.0], "tanh"), layer(&[vec![-2.0]], &[0.0], "linear")];
    let mut one_output = learned(&layers.join(", "));
    let mut figures = observation(&[0.25, 0.75, 0.0]).paths().to_vec();
    figures[2][0] = 0.0;
    let seen = Observation::from_figures(figures, [0.0, 0.0, 0.0, 0.0, 0.0, 0.5]);
    let answers = decide(&mut one_output, &seen);
    // The mean over usable paths is 1/2; tanh(1/4) = 0.244919; exp(-4 * 0.244919) = 0.375435.
    assert_eq!(answers[0], PathAction { weight: 1.0, cwnd_factor: 1.0 });
    assert!((answers[1].weight - 0.375_435).abs() < 1e-5, "{answers:?}");
    assert_eq!(answers[1].weight.to_bits(), 1_052_784_841, "on any machine");
    assert_eq!(answers[2], PathAction { weight: 0.0, cwnd_factor: 1.0 }, "not usable");

    let layers = [
        layer(&[hidden[1].clone(), row(&[])], &[-0.25, -3.0], "relu"),
        layer(&[vec![0.0, 5.0], vec![4.0, 0.0]], &[1.0, -1.0], "linear"),
    ];
    let answers = decide(&mut learned(&layers.join(", ")), &seen);
    // relu(1/2 - 1/4) = 1/4; 4 / 4 - 1 = 0: half way between 0.25 and 1. Relu of -3 is 0.
    assert_eq!(answers[..2], [PathAction { weight: 1.0, cwnd_factor: 0.625 }; 2]);
}

#[test]
fn no_usable_path_and_no_path_have_an_answer() {
    let mut learned = learned(&layer(&[row(&[(2, 1.0)])], &[0.0], "linear"));
    assert_eq!(learned.decide(Time::ZERO, &observation(&[])), Action::default());
    let dead = Observation::from_figures(vec![[0.0; PATH_FIGURES.len()]; 2], [0.0; 6]);
    assert_eq!(decide(&mut learned, &dead)[1].weight, 0.0);
}

#[test]
fn numbers_that_would_overflow_make_an_answer() {
    const MAX: f32 = f32::MAX;
    let inner = layer(&[vec![MAX; 2], vec![MAX, -MAX]], &[MAX; 2], "relu");
    // f32::MAX to the power of 8 is more than an f64 holds.
    let mut layers = vec![inner; 8];
    layers[0] = layer(&[vec![MAX; 30], vec![MAX; 30]], &[0.0; 2], "linear");
    layers[7] = layer(&[vec![MAX; 2], vec![-MAX; 2]], &[0.0; 2], "linear");
    let answers = decide(&mut learned(&layers.join(", ")), &observation(&[0.25, 0.5, 0.0]));
    assert_eq!(answers, [PathAction { weight: 1.0, cwnd_factor: 0.25 }; 3]);
}

fn error(text: &str) -> String {
    Learned::from_json(text).expect_err("refused").to_string()
}

#[test]
fn errors_name_the_field_its_value_and_what_is_allowed() {
    let good = layer(&[row(&[])], &[0.0], "linear");
    let with = |from: &str, to: &str| error(&file(&good).replacen(from, to, 1));
    assert_eq!(
        with("polypath-learned", "onnx"),
        "format is \"onnx\"; allowed: \"polypath-learned\""
    );
    assert_eq!(with("\"version\": 1", "\"version\": 2, \"new\": 3"), "version is 2; allowed: 1");
    assert_eq!(with("\"observation\": 1", "\"observation\": 9"), "observation is 9; allowed: 1");
    assert_eq!(with("\"every_ms\": 10", "\"every_ms\": 0"), "every_ms is 0; allowed: 1 to 60000");
    assert_eq!(
        with("linear", "gelu"),
        "layers[0].activation: unknown variant `gelu`, expected one of `tanh`, `relu`, `linear` \
         at line 1 column 291"
    );
    assert_eq!(
        with("[0.0]", "[1e39]"),
        "layers[0].bias[0] is inf; allowed: a finite number, below 3.4e38 in size"
    );
    assert!(with("[0.0]", "[NaN]").starts_with("layers[0].bias[0]: "));
    assert!(with("[0.0]", "[1e999]").contains("number out of range"));
    assert_eq!(
        with("[0.0]", "[0.0, 1.0]"),
        "layers[0].bias is 2 numbers; allowed: 1, one per unit"
    );
    assert_eq!(
        with("[[0.0, ", "[["),
        "layers[0].weights[0] is 29 numbers; allowed: 30, one per input"
    );
    assert_eq!(
        with("\"every_ms\"", "\"every\\nms\""),
        "every?ms: unknown field `every?ms`, expected one of `format`, `version`, `observation`, \
         `every_ms`, `layers` at line 1 column 74"
    );
}

#[test]
fn shapes_have_limits() {
    let of = |rows: usize, inputs: usize| {
        layer(&vec![vec![0.5; inputs]; rows], &vec![0.0; rows], "tanh")
    };
    let layers = |list: &[String]| error(&file(&list.join(", ")));
    assert_eq!(layers(&[]), "layers is 0 layers; allowed: 1 to 8");
    assert_eq!(layers(&vec![of(1, 30); 9]), "layers is 9 layers; allowed: 1 to 8");
    let allowed = "1 to 256, one per unit";
    assert_eq!(
        layers(&[of(257, 30), of(1, 257)]),
        format!("layers[0].weights is 257 rows; allowed: {allowed}")
    );
    assert_eq!(
        layers(&[of(0, 30), of(1, 0)]),
        format!("layers[0].weights is 0 rows; allowed: {allowed}")
    );
    assert_eq!(
        layers(&[of(3, 30)]),
        "layers[0].weights is 3 rows; allowed: 1 or 2 in the last layer: the logit of the weight, \
         and of the cwnd factor"
    );
    assert!(Learned::from_json(&file(&[of(256, 30), of(2, 256)].join(", "))).is_ok());
    let long = file(&of(1, 30)) + &" ".repeat(1 << 20);
    assert!(error(&long).ends_with("bytes long; allowed: 1048576 bytes (1 MiB) at most"));
    assert!(error(&(file(&of(1, 30)) + "{}")).starts_with(".: trailing characters"));
    assert!(error(&"[".repeat(1 << 20)).len() < 300);
}

#[test]
fn the_interval_may_be_left_out() {
    let text = file(&layer(&[row(&[])], &[0.0], "linear")).replace("\"every_ms\": 10,", "");
    let every = Learned::from_json(&text).expect("valid").every();
    assert_eq!(every, Duration::from_millis(10));
}

#[test]
fn the_registry_reads_the_file() {
    let builtin = Registry::builtin();
    let refused = |registry: &Registry, text: &str| {
        registry.path_scheduler(text).err().expect("refused").to_string()
    };
    assert_eq!(
        refused(&builtin, "learned"),
        "path scheduler \"learned\": option \"file\" is missing; allowed: file=<file>"
    );
    assert_eq!(
        refused(&builtin, "learned?file=a"),
        "path scheduler \"learned?file=a\": option \"file\": no files can be read here"
    );
    let good = file(&layer(&[row(&[])], &[0.0], "linear"));
    let registry = Registry::builtin().with_files(move |name| match name {
        "nets/a-1_b.json" => Ok(good.clone()),
        _ => Ok("{}".to_owned()),
    });
    assert!(registry.path_scheduler("learned?file=nets/a-1_b.json").is_ok());
    assert_eq!(
        refused(&registry, "learned?file=b"),
        "path scheduler \"learned?file=b\": option \"file\": .: missing field `format` at line 1 \
         column 2"
    );
}

proptest! {
    #[test]
    fn the_order_of_paths_does_not_matter(
        figures in proptest::collection::vec(proptest::array::uniform12(0_u32..10_000_000), 1..6),
        turn in 0..5_usize,
        weights in proptest::collection::vec(-3.0_f32..3.0, 30 * 4 + 8),
    ) {
        let path = |of: &[u32; 12]| of.map(|steps| steps as f32 / 1_048_576.0);
        let mut paths: Vec<_> = figures.iter().map(path).collect();
        let assoc = [0.5; 6];
        let rows: Vec<_> = weights[..120].chunks(30).map(<[f32]>::to_vec).collect();
        let last: Vec<_> = weights[120..].chunks(4).map(<[f32]>::to_vec).collect();
        let layers = [layer(&rows, &[0.1; 4], "tanh"), layer(&last, &[0.0; 2], "linear")];
        let mut learned = learned(&layers.join(", "));
        let mut before = decide(&mut learned, &Observation::from_figures(paths.clone(), assoc));
        let turn = turn % paths.len();
        paths.rotate_left(turn);
        before.rotate_left(turn);
        prop_assert_eq!(decide(&mut learned, &Observation::from_figures(paths, assoc)), before);
    }

    #[test]
    fn any_text_is_a_network_or_refused_in_one_line(text in ".{0,60}", cut in 0..400_usize) {
        let good = file(&layer(&[row(&[])], &[0.0], "linear"));
        let (start, end) = good.split_at(cut.min(good.len()));
        for text in [text.clone(), format!("{start}{text}{end}"), start.to_owned()] {
            if let Err(error) = Learned::from_json(&text) {
                let message = error.to_string();
                prop_assert!(!message.chars().any(char::is_control), "{message:?}");
            }
        }
    }
}
