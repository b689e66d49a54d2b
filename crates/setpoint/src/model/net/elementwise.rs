//! Loops over values in the cache, compiled for the vectors of the processor at hand.

/// Defines a function whose loops the compiler may turn into the widest vectors of the processor.
macro_rules! vectorised {
    ($($(#[$doc:meta])* fn $name:ident($($argument:ident: $type:ty),* $(,)?) $body:block)*) => {$(
        $(#[$doc])*
        pub(in crate::model::net) fn $name<'a>($($argument: $type),*) {
            struct Call<'a> { $($argument: $type),* }
            impl<'a> pulp::WithSimd for Call<'a> {
                type Output = ();
                #[inline(always)]
                fn with_simd<S: pulp::Simd>(self, _: S) {
                    let Call { $($argument),* } = self;
                    $body
                }
            }
            pulp::Arch::new().dispatch(Call { $($argument),* });
        }
    )*};
}
pub(in crate::model::net) use vectorised;

/// Channels summed at a time, in registers.
pub(super) const LANES: usize = 16;

vectorised! {
    /// Adds a bias to each row of channels.
    fn add_bias(values: &'a mut [f32], bias: &'a [f32]) {
        for row in values.chunks_exact_mut(bias.len()) {
            for (value, bias) in row.iter_mut().zip(bias) {
                *value += bias;
            }
        }
    }

    /// Adds a bias to each row of channels, then ReLU.
    fn add_bias_relu(values: &'a mut [f32], bias: &'a [f32]) {
        for row in values.chunks_exact_mut(bias.len()) {
            for (value, bias) in row.iter_mut().zip(bias) {
                *value = positive(*value + bias);
            }
        }
    }

    fn relu(values: &'a mut [f32]) {
        for value in values {
            *value = positive(*value);
        }
    }

    /// Sets slopes to 0 where the output of ReLU was.
    fn relu_slope(outputs: &'a [f32], slopes: &'a mut [f32]) {
        for (slope, output) in slopes.iter_mut().zip(outputs) {
            *slope = if *output > 0.0 { *slope } else { 0.0 };
        }
    }

    /// Adds one vector to another.
    fn add(values: &'a [f32], into: &'a mut [f32]) {
        for (into, value) in into.iter_mut().zip(values) {
            *into += value;
        }
    }

    /// Adds the sums of each channel, taken in f64.
    fn add_column_sums(values: &'a [f32], into: &'a mut [f32]) {
        let channels = into.len();
        for (block, into) in into.chunks_mut(LANES).enumerate() {
            let mut sums = [0.0f64; LANES];
            let start = block * LANES;
            if into.len() == LANES {
                for row in values.chunks_exact(channels) {
                    for (sum, value) in sums.iter_mut().zip(&row[start..start + LANES]) {
                        *sum += f64::from(*value);
                    }
                }
            } else {
                for row in values.chunks_exact(channels) {
                    for (sum, value) in sums.iter_mut().zip(&row[start..]) {
                        *sum += f64::from(*value);
                    }
                }
            }
            for (into, sum) in into.iter_mut().zip(sums) {
                *into = (f64::from(*into) + sum) as f32;
            }
        }
    }
}

/// max(x, 0); NaN stays NaN, so that a broken run is seen.
#[inline(always)]
pub(super) fn positive(x: f32) -> f32 {
    if x < 0.0 { 0.0 } else { x }
}
