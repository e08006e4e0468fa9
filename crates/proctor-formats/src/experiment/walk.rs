//! Ways through a declared experiment.

use proctor_model::experiment::{Axes, Experiment, Extension, FileEntry, Setup, Skill};

/// The axes of the top level and of all extensions, in the order of the file.
pub(super) fn all_axes(experiment: &Experiment) -> Vec<&Axes> {
    fn below<'a>(extensions: &'a [Extension], all: &mut Vec<&'a Axes>) {
        for extension in extensions {
            all.push(&extension.axes);
            below(&extension.extensions, all);
        }
    }
    let mut all = vec![&experiment.axes];
    below(&experiment.extensions, &mut all);
    all
}

/// The setups of every declared environment and product.
pub(super) fn setup_lists(experiment: &Experiment) -> Vec<&[Setup]> {
    let mut lists = Vec::new();
    for axes in all_axes(experiment) {
        lists.extend(axes.environments.iter().flatten().map(|one| one.setups.as_slice()));
        lists.extend(axes.products.iter().flatten().map(|one| one.setups.as_slice()));
    }
    lists
}

/// The files that agents see: those of the experiment and of every setup.
pub(super) fn visible_files(experiment: &Experiment) -> Vec<&FileEntry> {
    let setups = setup_lists(experiment).into_iter().flatten();
    experiment.files.iter().chain(setups.flat_map(|setup| &setup.files)).collect()
}

/// The skills of every setup.
pub(super) fn skills(experiment: &Experiment) -> Vec<&Skill> {
    setup_lists(experiment).into_iter().flatten().flat_map(|setup| &setup.skills).collect()
}
