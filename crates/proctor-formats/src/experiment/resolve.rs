//! From the declared matrix to its variants.
//!
//! An extension's own axes replace those that it inherits, axis by axis. A level with extensions is
//! a template and yields only what they yield; one without is a leaf and yields the cross product
//! of agents, models, prompts, environments and products, in that order. A model that an agent
//! cannot drive gives no variant with it; an agent that brings its own model meets no other.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use proctor_model::experiment::document::{Contents, Fingerprinter, Part, Parts};
use proctor_model::experiment::{
    Agent, Axes, Environment, Experiment, Extension, McpTransport, Model, Product, Prompt, Rule,
    Setup, Variable, Variant, VariantId, drives,
};
use proctor_model::{Diagnostic, Location};

use super::rules;
use crate::tree::Problems;

/// Where the top level stands.
const TOP: Location = Location { line: 1, column: 1 };

/// How many variants an experiment may have.
pub const MAX_VARIANTS: usize = 100_000;

/// How many steps the matrix may take to look at: pairings of agents with models, and files and
/// variables of setups that meet. Real experiments need some thousands.
const MAX_STEPS: usize = 20_000_000;

/// How much text the variants may repeat, in bytes: all of it goes into fingerprints.
const MAX_TEXT: usize = 2 * 1024 * 1024 * 1024;

/// The variants of an experiment in the order of the file. `contents` are the digests of its
/// sources, as far as they are known; they go into the fingerprints.
///
/// An experiment that [`super::read`] gave has at least one variant and at most [`MAX_VARIANTS`].
pub fn resolve(experiment: &Experiment, contents: &Contents) -> Vec<Variant> {
    let mut resolver = Resolver::new(experiment, contents);
    for leaf in leaves(experiment) {
        resolver.leaf(&leaf);
    }
    resolver.variants
}

/// A part of the matrix: the axes that hold there.
#[derive(Clone)]
struct Level<'a> {
    path: Option<String>,
    at: Location,
    agents: Option<&'a [Agent]>,
    models: Option<&'a [Model]>,
    prompts: Option<&'a [Arc<Prompt>]>,
    environments: Option<&'a [Arc<Environment>]>,
    products: Option<&'a [Arc<Product>]>,
}

impl<'a> Level<'a> {
    fn top(axes: &'a Axes) -> Self {
        Self {
            path: None,
            at: TOP,
            agents: axes.agents.as_deref(),
            models: axes.models.as_deref(),
            prompts: axes.prompts.as_deref(),
            environments: axes.environments.as_deref(),
            products: axes.products.as_deref(),
        }
    }

    fn below(&self, extension: &'a Extension) -> Self {
        let own = Level::top(&extension.axes);
        Self {
            path: Some(match &self.path {
                Some(path) => format!("{path}/{}", extension.id),
                None => extension.id.to_string(),
            }),
            at: extension.at,
            agents: own.agents.or(self.agents),
            models: own.models.or(self.models),
            prompts: own.prompts.or(self.prompts),
            environments: own.environments.or(self.environments),
            products: own.products.or(self.products),
        }
    }

    /// Every agent with every model that it may drive here.
    fn paired(&self) -> Vec<Agent> {
        let mut paired = Vec::new();
        for agent in self.agents.unwrap_or_default() {
            match (&agent.model, self.models) {
                (None, Some(models)) => {
                    let fit = models.iter().filter(|model| drives(&agent.name, &model.name));
                    paired.extend(
                        fit.map(|model| Agent { model: Some(model.clone()), ..agent.clone() }),
                    );
                }
                (None, None) => paired.push(agent.clone()),
                (Some(model), _) if drives(&agent.name, &model.name) => paired.push(agent.clone()),
                (Some(_), _) => {}
            }
        }
        paired
    }

    /// How many pairs of an agent and a model there are to be looked at.
    fn pairings(&self) -> usize {
        let models = self.models.map_or(1, <[_]>::len);
        self.agents.map_or(0, <[_]>::len).saturating_mul(models).saturating_add(1)
    }

    /// How much text of prompts and setups its variants repeat, when it has so many agents.
    fn text(&self, agents: usize) -> usize {
        let sum = |lengths: &mut dyn Iterator<Item = usize>| -> usize {
            lengths.fold(0, usize::saturating_add)
        };
        let prompts = self.prompts.unwrap_or_default();
        let (environments, products) = (self.environments, self.products);
        let of_prompts = sum(&mut prompts.iter().map(|one| one.text.len()));
        let of_environments =
            sum(&mut environments.iter().copied().flatten().map(|one| text_of(&one.setups)));
        let of_products =
            sum(&mut products.iter().copied().flatten().map(|one| text_of(&one.setups)));
        let (e, p) = (environments.map_or(1, <[_]>::len), products.map_or(1, <[_]>::len));
        let times = |a: usize, b: usize, c: usize| a.saturating_mul(b).saturating_mul(c);
        times(of_prompts, e, p)
            .saturating_add(times(of_environments, prompts.len(), p))
            .saturating_add(times(of_products, prompts.len(), e))
            .saturating_mul(agents)
    }

    /// How many variants it has, when it has so many agents.
    fn size(&self, agents: usize) -> usize {
        let prompts = self.prompts.map_or(0, <[_]>::len);
        let environments = self.environments.map_or(1, <[_]>::len);
        let products = self.products.map_or(1, <[_]>::len);
        [prompts, environments, products].into_iter().fold(agents, usize::saturating_mul)
    }
}

/// The length of all scripts of some setups.
fn text_of(setups: &[Setup]) -> usize {
    let checks = setups.iter().flat_map(|setup| &setup.checks).map(|check| check.script.len());
    setups.iter().map(|setup| setup.script.len()).chain(checks).fold(0, usize::saturating_add)
}

/// The parts of the matrix that give variants, in the order of the file.
fn leaves(experiment: &Experiment) -> Vec<Level<'_>> {
    fn below<'a>(level: &Level<'a>, extensions: &'a [Extension], leaves: &mut Vec<Level<'a>>) {
        for extension in extensions {
            let level = level.below(extension);
            if extension.extensions.is_empty() {
                leaves.push(level);
            } else {
                below(&level, &extension.extensions, leaves);
            }
        }
    }
    let top = Level::top(&experiment.axes);
    if experiment.extensions.is_empty() {
        return vec![top];
    }
    let mut leaves = Vec::new();
    below(&top, &experiment.extensions, &mut leaves);
    leaves
}

/// The items of an axis that may be absent: then there is one nothing.
fn each<T>(axis: Option<&[T]>) -> impl Iterator<Item = Option<&T>> + Clone {
    axis.unwrap_or_default().iter().map(Some).chain(axis.is_none().then_some(None))
}

/// An environment and a product, as things and not as values.
type Pair = (Option<*const Environment>, Option<*const Product>);

fn pair(environment: Option<&Arc<Environment>>, product: Option<&Arc<Product>>) -> Pair {
    (environment.map(Arc::as_ptr), product.map(Arc::as_ptr))
}

/// Builds variants; what several of them share is made once.
struct Resolver<'a> {
    experiment: &'a Experiment,
    contents: &'a Contents,
    fingerprinter: Fingerprinter,
    common: Arc<[Variable]>,
    prompts: HashMap<*const Prompt, Part>,
    environments: HashMap<*const Environment, Part>,
    products: HashMap<*const Product, Part>,
    variables: HashMap<Pair, Arc<[Variable]>>,
    variants: Vec<Variant>,
}

impl<'a> Resolver<'a> {
    fn new(experiment: &'a Experiment, contents: &'a Contents) -> Self {
        Self {
            experiment,
            contents,
            fingerprinter: Fingerprinter::new(experiment, contents),
            common: merged(&experiment.variables, [].iter()).into(),
            prompts: HashMap::new(),
            environments: HashMap::new(),
            products: HashMap::new(),
            variables: HashMap::new(),
            variants: Vec::new(),
        }
    }

    fn leaf(&mut self, leaf: &Level<'a>) {
        let contents = self.contents;
        for one in leaf.prompts.unwrap_or_default() {
            self.prompts.entry(Arc::as_ptr(one)).or_insert_with(|| Part::prompt(one));
        }
        for one in leaf.environments.unwrap_or_default() {
            let part = || Part::environment(one, contents);
            self.environments.entry(Arc::as_ptr(one)).or_insert_with(part);
        }
        for one in leaf.products.unwrap_or_default() {
            self.products.entry(Arc::as_ptr(one)).or_insert_with(|| Part::product(one, contents));
        }
        // Variables differ by environment and product only.
        let pairs: Vec<_> = each(leaf.environments)
            .flat_map(|environment| each(leaf.products).map(move |product| (environment, product)))
            .map(|(environment, product)| {
                (environment, product, self.variables(environment, product))
            })
            .collect();
        for agent in leaf.paired() {
            let agent_part = Part::agent(&agent);
            for prompt in leaf.prompts.unwrap_or_default() {
                for (environment, product, variables) in &pairs {
                    let id = VariantId::new(
                        &agent,
                        prompt,
                        environment.map(|one| &**one),
                        product.map(|one| &**one),
                        leaf.path.as_deref(),
                    );
                    // Every prompt of the leaf has its part.
                    let Some(prompt_part) = self.prompts.get(&Arc::as_ptr(prompt)) else {
                        continue;
                    };
                    let fingerprint = self.fingerprinter.fingerprint(Parts {
                        agent: &agent_part,
                        environment: environment
                            .and_then(|one| self.environments.get(&Arc::as_ptr(one))),
                        extension: leaf.path.as_deref(),
                        id: &id,
                        product: product.and_then(|one| self.products.get(&Arc::as_ptr(one))),
                        prompt: prompt_part,
                    });
                    self.variants.push(Variant {
                        id,
                        agent: agent.clone(),
                        prompt: Arc::clone(prompt),
                        environment: environment.cloned(),
                        product: product.cloned(),
                        extension: leaf.path.clone(),
                        files: Arc::clone(&self.experiment.files),
                        tests: Arc::clone(&self.experiment.tests),
                        limits: self.experiment.limits,
                        variables: Arc::clone(variables),
                        fingerprint,
                    });
                }
            }
        }
    }

    fn variables(
        &mut self,
        environment: Option<&Arc<Environment>>,
        product: Option<&Arc<Product>>,
    ) -> Arc<[Variable]> {
        let setups = setups(environment, product);
        if setups.clone().all(|setup| setup.variables.is_empty()) {
            return Arc::clone(&self.common);
        }
        let common = &self.experiment.variables;
        let merge = || merged(common, setups.flat_map(|setup| &setup.variables)).into();
        Arc::clone(self.variables.entry(pair(environment, product)).or_insert_with(merge))
    }
}

fn setups<'a>(
    environment: Option<&'a Arc<Environment>>,
    product: Option<&'a Arc<Product>>,
) -> impl Iterator<Item = &'a Setup> + Clone {
    let environment = environment.map_or(&[][..], |one| one.setups.as_slice());
    let product = product.map_or(&[][..], |one| one.setups.as_slice());
    environment.iter().chain(product)
}

/// Variables by name; of equal names the last one stands.
fn merged<'a>(common: &'a [Variable], own: impl Iterator<Item = &'a Variable>) -> Vec<Variable> {
    let by_name: BTreeMap<_, _> =
        common.iter().chain(own).map(|variable| (&variable.name, variable)).collect();
    by_name.into_values().cloned().collect()
}

/// Says what is wrong with the variants of an experiment. Axes with nothing on them stand for
/// mistakes that were said.
pub(super) fn check(experiment: &Experiment, problems: &mut Problems) {
    let mut check = Check {
        experiment,
        ids: HashMap::new(),
        said: BTreeSet::new(),
        pairings: Pairings::default(),
        pairs: HashSet::new(),
        total: 0,
        steps: 0,
        text: 0,
    };
    let mut mistaken = false;
    for leaf in leaves(experiment) {
        check.steps = check.steps.saturating_add(leaf.pairings());
        if let Some(error) = check.too_large() {
            problems.push(error.at(leaf.at));
            return;
        }
        let agents = leaf.paired();
        let missing = [(leaf.agents.is_none(), "agent"), (leaf.prompts.is_none(), "prompt")];
        for (_, what) in missing.into_iter().filter(|(missing, _)| *missing) {
            problems.push(incomplete(&leaf, what));
            mistaken = true;
        }
        mistaken |= leaf.agents.is_some_and(<[_]>::is_empty)
            || leaf.models.is_some_and(<[_]>::is_empty)
            || (leaf.size(1) == 0 && leaf.prompts.is_some());
        check.total = check.total.saturating_add(leaf.size(agents.len()));
        check.text = check.text.saturating_add(leaf.text(agents.len()));
        if let Some(error) = check.too_large() {
            problems.push(error.at(leaf.at));
            return;
        }
        check.pairings.add(&leaf, &agents);
        check.ids(&leaf, &agents, problems);
        if !agents.is_empty() && !check.pairs(&leaf, problems) {
            problems.push(Diagnostic::error(TOO_MUCH).at(leaf.at).rule(Rule::TooLarge));
            return;
        }
    }
    if check.total == 0 && !mistaken {
        let error = Diagnostic::error("no variant is left: no agent can drive any of the models");
        let hint = "claude drives models of Anthropic, codex those of OpenAI";
        problems.push(error.at(TOP).rule(Rule::NoVariants).hint(hint));
    } else if !mistaken {
        check.pairings.finish(problems);
    }
}

fn incomplete(leaf: &Level<'_>, what: &str) -> Diagnostic {
    let place = match &leaf.path {
        Some(path) => format!("the variants of extension `{path}` have no {what}"),
        None => format!("the variants have no {what}"),
    };
    let hint = format!("declare `{what}s` here or above");
    Diagnostic::error(place).at(leaf.at).rule(Rule::IncompleteVariant).hint(hint)
}

fn twice(id: &VariantId, at: Location, other: Location) -> Diagnostic {
    let message = if at == other {
        format!("two variants have the id `{id}`")
    } else {
        format!("two variants have the id `{id}`: the other is at {}:{}", other.line, other.column)
    };
    Diagnostic::error(message).at(at).rule(Rule::DuplicateVariant)
}

struct Check<'a> {
    experiment: &'a Experiment,
    ids: HashMap<VariantId, Location>,
    said: BTreeSet<(Location, String)>,
    pairings: Pairings,
    pairs: HashSet<Pair>,
    total: usize,
    steps: usize,
    text: usize,
}

const TOO_MUCH: &str = "the matrix is too large to be looked at";

/// Which agents and models meet: where each is declared first, and whether a variant has it.
#[derive(Default)]
struct Pairings {
    agents: BTreeMap<String, (Location, bool)>,
    models: BTreeMap<String, (Location, bool)>,
    twice: BTreeMap<String, Location>,
}

impl Pairings {
    fn add(&mut self, leaf: &Level<'_>, paired: &[Agent]) {
        let Some(models) = leaf.models else { return };
        for agent in leaf.agents.unwrap_or_default() {
            self.agents.entry(agent.name.to_string()).or_insert((leaf.at, false));
            if agent.model.is_some() {
                self.twice.entry(agent.name.to_string()).or_insert(leaf.at);
            }
        }
        for model in models {
            self.models.entry(model.name.clone()).or_insert((leaf.at, false));
        }
        for agent in paired {
            if let Some((_, used)) = self.agents.get_mut(agent.name.as_str()) {
                *used = true;
            }
            let model = agent.model.as_ref().and_then(|model| self.models.get_mut(&model.name));
            if let Some((_, used)) = model {
                *used = true;
            }
        }
    }

    fn finish(self, problems: &mut Problems) {
        let unused = |of: BTreeMap<String, (Location, bool)>| {
            of.into_iter().filter(|(_, (_, used))| !used).map(|(name, (at, _))| (name, at))
        };
        let agents = unused(self.agents)
            .map(|(name, at)| (at, format!("`{name}` can drive none of the models beside it")));
        let models = unused(self.models)
            .map(|(name, at)| (at, format!("no agent beside the model `{name}` can drive it")));
        for (at, message) in agents.chain(models) {
            let note = Diagnostic::warning(format!("{message}, so it is in no variant")).at(at);
            problems.push(note.rule(Rule::PairNeverRuns));
        }
        for (name, at) in self.twice {
            let message =
                format!("`{name}` has a model of its own, and meets none of the list `models`");
            problems.push(Diagnostic::warning(message).at(at).rule(Rule::ModelTwice));
        }
    }
}

impl<'a> Check<'a> {
    fn too_large(&self) -> Option<Diagnostic> {
        let message = if self.total > MAX_VARIANTS {
            format!("more than {MAX_VARIANTS} variants")
        } else if self.text > MAX_TEXT {
            format!("the variants repeat more than {MAX_TEXT} bytes of prompts and scripts")
        } else if self.steps > MAX_STEPS {
            TOO_MUCH.to_owned()
        } else {
            return None;
        };
        Some(Diagnostic::error(message).rule(Rule::TooLarge))
    }

    fn ids(&mut self, leaf: &Level<'a>, agents: &[Agent], problems: &mut Problems) {
        for agent in agents {
            for prompt in leaf.prompts.unwrap_or_default() {
                for environment in each(leaf.environments) {
                    for product in each(leaf.products) {
                        let id = VariantId::new(
                            agent,
                            prompt,
                            environment.map(|one| &**one),
                            product.map(|one| &**one),
                            leaf.path.as_deref(),
                        );
                        if let Some(place) = self.ids.get(&id) {
                            problems.push_error(|| twice(&id, leaf.at, *place));
                        } else {
                            self.ids.insert(id, leaf.at);
                        }
                    }
                }
            }
        }
    }

    /// What an environment and a product do to each other, once for each pair; `false` when there
    /// is too much of it.
    fn pairs(&mut self, leaf: &Level<'a>, problems: &mut Problems) -> bool {
        for environment in each(leaf.environments) {
            for product in each(leaf.products) {
                if !self.pairs.insert(pair(environment, product)) {
                    continue;
                }
                let work = |setup: &Setup| setup.files.len() + setup.variables.len() + 1;
                let work: usize = setups(environment, product).map(work).sum();
                self.steps += work + self.experiment.variables.len();
                if self.steps > MAX_STEPS {
                    return false;
                }
                self.undeclared(environment, product, problems);
                if let (Some(environment), Some(product)) = (environment, product) {
                    rules::check_pair(&environment.setups, &product.setups, problems);
                }
            }
        }
        true
    }

    /// Servers may only take variables that their variant declares.
    fn undeclared(
        &mut self,
        environment: Option<&Arc<Environment>>,
        product: Option<&Arc<Product>>,
        problems: &mut Problems,
    ) {
        let setups = setups(environment, product);
        let own = setups.clone().flat_map(|setup| &setup.variables);
        let declared: BTreeSet<_> =
            self.experiment.variables.iter().chain(own).map(|variable| &variable.name).collect();
        for server in setups.flat_map(|setup| &setup.mcp_servers) {
            let McpTransport::Stdio { env, .. } = &server.transport else { continue };
            for one in env.iter().filter(|one| !declared.contains(&one.from)) {
                let message =
                    format!("the server takes `{}`, which its variants do not declare", one.from);
                if self.said.insert((server.at, message.clone())) {
                    let hint = "declare it in `environment_variables`";
                    let error = Diagnostic::error(message).at(server.at).hint(hint);
                    problems.push(error.rule(Rule::UndeclaredVariable));
                }
            }
        }
    }
}
