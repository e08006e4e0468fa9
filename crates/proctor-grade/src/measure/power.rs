//! What a plan can show.

use proctor_model::measure::{GatePower, MarginPower, POWER_VERSION, PowerDesign, PowerReport};

use super::metric::number;
use super::tidy;
use crate::stats::{
    Design, Direction, clearest, least_decisive, least_for_margin, least_for_rate, passes_for_rate,
    rate_power,
};

/// A plan, before it is paid for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PowerPlan {
    /// Trials a side.
    pub n: u64,
    /// Prompts and repetitions, where they are known.
    pub prompts: Option<(u64, u64)>,
    /// How many sides are held against the first; at least 1.
    pub comparisons: u64,
    /// The pass rate of the first side, from 0 to 1.
    pub rate: f64,
    /// The level of all comparisons together.
    pub level: f64,
    /// How likely an effect is to be shown.
    pub power: f64,
    /// The effect that is looked for, as a share.
    pub effect: Option<f64>,
    /// The rate that a gate asks for.
    pub gate: Option<f64>,
    /// The margin of a comparison, as a share.
    pub margin: Option<f64>,
}

/// What the plan can show. With several comparisons each has its part of the level, which is the worst
/// case of Holm's correction.
pub fn power(plan: &PowerPlan) -> PowerReport {
    let level = plan.level / number(plan.comparisons.max(1));
    let design = |design: Design| {
        let detectable = |direction| {
            design.detectable(plan.n, plan.rate, direction, level, plan.power).map(tidy)
        };
        // Whichever way there is more room, and upwards where it is the same.
        let needed = plan.effect.and_then(|effect| {
            let after =
                if plan.rate + effect <= 1.0 { plan.rate + effect } else { plan.rate - effect };
            design.needed(plan.rate, after, level, plan.power)
        });
        PowerDesign {
            detectable_rise: detectable(Direction::Better),
            detectable_fall: detectable(Direction::Worse),
            needed,
        }
    };
    PowerReport {
        schema_version: POWER_VERSION,
        n: plan.n,
        prompts: plan.prompts.map(|(prompts, _)| prompts),
        repeats: plan.prompts.map(|(_, repeats)| repeats),
        comparisons: plan.comparisons,
        rate: plan.rate,
        level: tidy(level),
        power: plan.power,
        least_flips: least_decisive(0, level),
        can_decide: clearest(plan.n) <= level,
        paired: design(Design::Paired),
        unpaired: design(Design::Unpaired),
        effect: plan.effect,
        gate: plan.gate.map(|rate| {
            let passes_needed = passes_for_rate(plan.n, rate);
            GatePower {
                rate,
                can_pass: passes_needed.is_some(),
                passes_needed,
                least_n: least_for_rate(rate),
                likelihood: tidy(rate_power(plan.n, rate, plan.rate)),
            }
        }),
        margin: plan.margin.map(|margin| {
            let least_n = least_for_margin(plan.rate, margin);
            MarginPower { margin, can_pass: least_n.is_some_and(|least| least <= plan.n), least_n }
        }),
    }
}
