// SPDX-License-Identifier: MIT OR Apache-2.0
//! `list claims`: what papers say, as the ledger compares it.

use serde_json::{Value, json};
use warpwatt_papers::{Bound, Claim, ClaimValue, Paper};

use crate::args::ListArgs;
use crate::console::{Console, write_result};
use crate::exit::{Exit, Failure};
use crate::table::{Table, wrapped};

/// Columns that are left of a hundred for what a claim is about.
const WHAT: usize = 40;

/// The claims of a paper.
pub fn of(paper: &Paper) -> Result<Vec<Claim>, Failure> {
    Ok(all()?.into_iter().filter(|claim| claim.id.starts_with(paper.prefix)).collect())
}

fn all() -> Result<Vec<Claim>, Failure> {
    warpwatt_papers::claims().map_err(|error| Failure::new(Exit::Internal, error.to_string()))
}

pub fn list(args: &ListArgs, console: &Console) -> Result<Exit, Failure> {
    let claims = all()?;
    if let Some(path) = &args.json {
        let document = json!({ "claims": claims.iter().map(as_json).collect::<Vec<_>>() });
        let text = warpwatt_results::json::to_text(&document)
            .map_err(|error| Failure::new(Exit::Internal, error.to_string()))?;
        write_result(path, &text, console)?;
        return Ok(Exit::Ok);
    }
    let mut table = Table::new(&["claim", "where", "value", "what"]).left(1).left(3);
    for claim in &claims {
        let value = match (&claim.value, claim.bound) {
            (ClaimValue::Words(words), _) => words.clone(),
            (ClaimValue::Number(number), None) => format!("{number} {}", claim.unit),
            (ClaimValue::Number(number), Some(Bound::AtMost)) => format!("<= {number} {}", claim.unit),
            (ClaimValue::Number(number), Some(Bound::AtLeast)) => format!(">= {number} {}", claim.unit),
        };
        let what = wrapped(&claim.what, 0, WHAT);
        table.row([claim.id.clone(), claim.place.clone(), value, what.trim_end().to_owned()]);
    }
    console.result(&table.render());
    console.summary("\n`warpwatt paper NAME` measures them. What a claim is judged by: `--json -`.\n");
    Ok(Exit::Ok)
}

fn as_json(claim: &Claim) -> Value {
    json!({
        "id": claim.id,
        "where": claim.place,
        "value": claim.value,
        "unit": claim.unit,
        "what": claim.what,
        "over": claim.over,
        "kind": claim.kind,
        "tolerance": claim.tolerance,
        "bound": claim.bound,
        "direction": claim.direction.text(),
    })
}
