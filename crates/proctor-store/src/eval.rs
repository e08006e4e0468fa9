//! Skill evals: the results file.
