//! A multilayer perceptron, evaluated in a fixed order of operations.

use serde::Deserialize;

use crate::scheduler::interval::{ASSOC_FIGURES, PATH_FIGURES};

/// The figures of a path, those of the association, and the means of the figures of the usable
/// paths.
pub(super) const INPUTS: usize = 2 * PATH_FIGURES.len() + ASSOC_FIGURES.len();

/// What goes from layer to layer stays within this: infinities would cancel to no number.
const BOUND: f64 = 1e30;

/// What a unit makes of its sum.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Activation {
    Tanh,
    Relu,
    Linear,
}

impl Activation {
    fn apply(self, sum: f64) -> f64 {
        match self {
            Self::Tanh => libm::tanh(sum),
            Self::Relu => sum.max(0.0),
            Self::Linear => sum,
        }
    }
}

/// Units that see the same inputs.
#[derive(Debug)]
pub(super) struct Layer {
    units: Vec<Unit>,
    activation: Activation,
}

#[derive(Debug)]
struct Unit {
    bias: f64,
    weights: Vec<f64>,
}

impl Layer {
    /// A row of weights and a bias for each unit.
    pub(super) fn new(weights: &[Vec<f32>], bias: &[f32], activation: Activation) -> Self {
        let unit = |(row, &bias): (&Vec<f32>, &f32)| Unit {
            bias: bias.into(),
            weights: row.iter().map(|&weight| weight.into()).collect(),
        };
        Self { units: weights.iter().zip(bias).map(unit).collect(), activation }
    }

    pub(super) const fn units(&self) -> usize {
        self.units.len()
    }

    fn apply(&self, inputs: &[f64], outputs: &mut Vec<f64>) {
        let output = |unit: &Unit| {
            let products = unit.weights.iter().zip(inputs).map(|(weight, input)| weight * input);
            self.activation.apply(products.fold(unit.bias, |sum, product| sum + product))
        };
        outputs.clear();
        outputs.extend(self.units.iter().map(|unit| output(unit).clamp(-BOUND, BOUND)));
    }
}

/// Layers, each of which sees what the one before gives; the first sees [`INPUTS`] numbers.
#[derive(Debug)]
pub(super) struct Net {
    layers: Vec<Layer>,
}

/// Room for what goes from layer to layer.
#[derive(Clone, Debug, Default)]
pub(super) struct Scratch {
    /// What the next layer sees; at the end the answer.
    pub(super) values: Vec<f64>,
    outputs: Vec<f64>,
}

impl Net {
    pub(super) const fn new(layers: Vec<Layer>) -> Self {
        Self { layers }
    }

    /// Applies all layers to `scratch.values`.
    pub(super) fn apply(&self, scratch: &mut Scratch) {
        for layer in &self.layers {
            layer.apply(&scratch.values, &mut scratch.outputs);
            core::mem::swap(&mut scratch.values, &mut scratch.outputs);
        }
    }
}
