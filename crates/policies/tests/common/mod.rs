//! Networks for `learned`.

use polypath_proto::rng::Rng;

/// Files of networks with random weights, for `learned`.
pub(crate) fn read_file(name: &str) -> Result<String, String> {
    let shape: &[usize] = match name {
        "one-layer" => &[1],
        "two-layers" => &[8, 2],
        _ => return Err(format!("{name} is not there")),
    };
    Ok(random_net(shape, &mut Rng::from_u64(7)))
}

/// A network with so many units in its layers; all but the last are of tanh.
fn random_net(shape: &[usize], rng: &mut Rng) -> String {
    let mut number = || f64::from(rng.next_u32()) / f64::from(u32::MAX) * 8.0 - 4.0;
    let mut inputs = 30;
    let mut layers = Vec::new();
    for (i, &units) in shape.iter().enumerate() {
        let mut row = |len: usize| (0..len).map(|_| number()).collect::<Vec<_>>();
        let weights: Vec<_> = (0..units).map(|_| row(inputs)).collect();
        let (bias, inner) = (row(units), i + 1 < shape.len());
        let activation = if inner { "tanh" } else { "linear" };
        layers.push(format!(
            r#"{{"weights": {weights:?}, "bias": {bias:?}, "activation": "{activation}"}}"#
        ));
        inputs = units;
    }
    let head = r#""format": "polypath-learned", "version": 1, "observation": 1"#;
    format!("{{{head}, \"every_ms\": 20, \"layers\": [{}]}}", layers.join(", "))
}
