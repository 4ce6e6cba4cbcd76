// SPDX-License-Identifier: MIT OR Apache-2.0
//! `list claims`: the claims of papers, their readings and rules, independent of any run.

use serde_json::{Value, json};
use warpwatt_base::suggest;
use warpwatt_papers::{Claim, Paper, READINGS};

use crate::args::ListArgs;
use crate::console::{Console, write_result};
use crate::exit::{Exit, Failure};
use crate::table::paragraph;

/// Shows the text that fixes the readings.
const ALL_READINGS: &str = "readings";

/// The claims of a paper.
pub fn of(paper: &Paper) -> Result<Vec<Claim>, Failure> {
    Ok(all()?.into_iter().filter(|claim| paper.claims(&claim.id)).collect())
}

fn all() -> Result<Vec<Claim>, Failure> {
    warpwatt_papers::claims().map_err(|error| Failure::new(Exit::Internal, error.to_string()))
}

pub fn list(args: &ListArgs, console: &Console) -> Result<Exit, Failure> {
    if args.show.as_deref() == Some(ALL_READINGS) {
        console.result(READINGS);
        return Ok(Exit::Ok);
    }
    let claims = shown(all()?, args.show.as_deref())?;
    if let Some(path) = &args.json {
        let document = json!({ "claims": claims.iter().map(as_json).collect::<Vec<_>>() });
        let text = warpwatt_results::json::to_text(&document)
            .map_err(|error| Failure::new(Exit::Internal, error.to_string()))?;
        write_result(path, &text, console)?;
        return Ok(Exit::Ok);
    }
    console.result(&claims.iter().map(text).collect::<Vec<_>>().join("\n"));
    let more = "`warpwatt paper NAME` measures the claims of a paper. `--show ID` shows one claim, or all with this \
                prefix, and `--show readings` the reasons for the readings.";
    console.summary(&format!("\n{}", paragraph(more, 0)));
    Ok(Exit::Ok)
}

/// Those whose id is, or begins with, what is to be shown.
fn shown(claims: Vec<Claim>, show: Option<&str>) -> Result<Vec<Claim>, Failure> {
    let Some(show) = show else { return Ok(claims) };
    let found: Vec<_> = match claims.iter().find(|claim| claim.id == show) {
        Some(claim) => vec![claim.clone()],
        None => claims.iter().filter(|claim| claim.id.starts_with(show)).cloned().collect(),
    };
    if found.is_empty() {
        let ids: Vec<_> = claims.iter().map(|claim| claim.id.as_str()).collect();
        let failure = Failure::usage(format!("there is no claim `{show}`"));
        return Err(failure.help(match suggest::nearest(show, &ids) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "`warpwatt list claims` shows all of them".to_owned(),
        }));
    }
    Ok(found)
}

/// A claim in some lines.
fn text(claim: &Claim) -> String {
    let sign = claim.limit.map_or(String::new(), |limit| format!("{} ", limit.sign()));
    let head = format!("{}: {sign}{}, {}", claim.id, claim.value.shown(&claim.unit), claim.kind.name());
    let mut text = paragraph(&head, 0);
    let mut add = |label: &str, line: &str| text += &paragraph(&format!("{label}: {line}"), 2);
    add(&claim.place, &claim.what);
    let entries = claim.entries();
    if let [(_, _), _, ..] = entries[..] {
        let shown: Vec<_> = entries.iter().map(|(name, value)| format!("{name} {value}")).collect();
        add("entries", &shown.join(", "));
    }
    add("over", &format!("{}, {} mean", claim.over, claim.mean.name()));
    add("read", &claim.reading);
    for (name, reading) in &claim.others {
        add(&format!("or {name}"), reading);
    }
    add("judged", &claim.judgement());
    if let Some(size) = claim.min_size {
        add("size", &format!("from {} on as in the paper; scaled below", size.name()));
    }
    text
}

fn as_json(claim: &Claim) -> Value {
    json!({
        "id": claim.id,
        "where": claim.place,
        "value": claim.value,
        "columns": claim.columns,
        "unit": claim.unit,
        "what": claim.what,
        "over": claim.over,
        "mean": claim.mean,
        "kind": claim.kind,
        "limit": claim.limit,
        "share": claim.share,
        "rounded_down": claim.rounded_down,
        "rounding": claim.rounding(),
        "min_size": claim.min_size,
        "reading": claim.reading,
        "others": claim.others,
        "judgement": claim.judgement(),
        "direction": claim.direction.text(),
    })
}
