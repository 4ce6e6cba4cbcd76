// SPDX-License-Identifier: MIT OR Apache-2.0
//! Two programs of map and reduction over web logs after Mars: how often each page is viewed, and the rank of pages by their views.

use crate::check::Check;
use crate::job::Job;
use crate::rng::Rng;
use crate::{Data, Dim, Fill, Info, Kernel, Known, Size, Workload};
use warpwatt_runtime::{Args, Device, DevicePtr, Error};

const BLOCK: u32 = 128;
// Powers of two.
const LINES: Dim = Dim::new("lines", [512, 4_096, 16_384, 131_072]);

static COUNT: Info = Info {
    name: "pageviewcount",
    about: "counts views of pages",
    domain: "data mining",
    suite: "Mars",
    program: "PageViewCount",
    kernels: &[
        Kernel::after("views_map", "Mapper", [BLOCK, 1, 1], "once").block_unknown(),
        Kernel::after("views_sort_near", "partBitonicSort", [BLOCK, 1, 1], "once a run of the sort")
            .block_unknown(),
        Kernel::after("views_sort_far", "unitBitonicSort", [BLOCK, 1, 1], "once a step of the sort")
            .block_unknown(),
        Kernel::after("views_reduce", "Reducer", [BLOCK, 1, 1], "once").block_unknown(),
    ],
    missing: &[
        "MapperCount and ReducerCount, which count what is emitted before it is written: here a line emits one pair",
    ],
    order_dependent: false,
    data: Data::Integer,
    dims: &[LINES],
    fill: Fill::Partial("a page with many views is counted by one thread: in the algorithm"),
    known: Known::Recalled,
    shape_from: "map, bitonic sort and reduction with a thread a record as Mars has them; its blocks are not known to us, ours have 128 threads",
    values_from: "a generated log: address, page and status; pages drawn so that a few have most views, as in web traffic",
    generator: 3,
    source: include_str!("../cuda/pageviewcount.cu"),
    ptx: include_str!("../ptx/pageviewcount.ptx"),
};

static RANK: Info = Info {
    name: "pageviewrank",
    about: "ranks pages by views",
    domain: "data mining",
    suite: "Mars",
    program: "PageViewRank",
    kernels: &[
        Kernel::after("rank_map", "Mapper", [BLOCK, 1, 1], "once").block_unknown(),
        Kernel::after("rank_sort_near", "partBitonicSort", [BLOCK, 1, 1], "once a run of the sort")
            .block_unknown(),
        Kernel::after("rank_sort_far", "unitBitonicSort", [BLOCK, 1, 1], "once a step of the sort")
            .block_unknown(),
        Kernel::after("rank_write", "copying of what was sorted", [BLOCK, 1, 1], "once").block_unknown(),
    ],
    missing: &["MapperCount, which counts what is emitted before it is written: here a line emits one pair"],
    order_dependent: false,
    data: Data::Integer,
    dims: &[LINES],
    fill: Fill::Full,
    known: Known::Recalled,
    shape_from: "map and bitonic sort with a thread a record as Mars has them; its blocks are not known to us, ours have 128 threads",
    values_from: "generated lines of page and number; numbers fall off by a power law, as views of pages do",
    generator: 3,
    source: include_str!("../cuda/pageviewrank.cu"),
    ptx: include_str!("../ptx/pageviewrank.ptx"),
};

pub struct PageViewCount;
pub struct PageViewRank;

impl Workload for PageViewCount {
    fn info(&self) -> &'static Info {
        &COUNT
    }

    fn run(&self, dev: &mut Device, ptx: &str, size: Size, seed: u64) -> Result<Check, Error> {
        let count = LINES.at(size);
        let lines = log(count as usize, &mut Rng::new(seed));
        let (text, starts) = joined(&lines);
        let mut job = Job::new(dev, &COUNT, ptx)?;
        let text = job.upload("log", &text)?;
        let starts = job.upload("starts", &starts)?;
        let keys = job.zeros::<u32>("keys", count as usize)?;
        let values = job.zeros::<u32>("values", count as usize)?;
        let counts = job.zeros::<u32>("counts", count as usize)?;
        job.launch(
            "views_map",
            count / BLOCK,
            BLOCK,
            Args::new().ptr(text).ptr(starts).ptr(keys).ptr(values),
        )?;
        sort(&mut job, ["views_sort_near", "views_sort_far"], keys, values, count)?;
        job.launch("views_reduce", count / BLOCK, BLOCK, Args::new().ptr(keys).u32(count).ptr(counts))?;
        let found_values: Vec<u32> = job.download(values, count as usize)?;
        let found: Vec<u32> = job.download(counts, count as usize)?;
        job.finish()?;

        let mut pairs: Vec<(u32, u32)> = lines.iter().map(|line| hash(line)).zip(0..).collect();
        pairs.sort_unstable();
        let want_values: Vec<u32> = pairs.iter().map(|pair| pair.1).collect();
        let mut want = vec![0; pairs.len()];
        let mut at = 0;
        for run in pairs.chunk_by(|a, b| a.0 == b.0) {
            want[at] = run.len() as u32;
            at += run.len();
        }
        Ok(Check::exact().output("lines", &want_values, &found_values).output("counts", &want, &found))
    }
}

impl Workload for PageViewRank {
    fn info(&self) -> &'static Info {
        &RANK
    }

    fn run(&self, dev: &mut Device, ptx: &str, size: Size, seed: u64) -> Result<Check, Error> {
        let count = LINES.at(size);
        let mut rng = Rng::new(seed);
        let views: Vec<u32> = (0..count).map(|_| (20.0 / (rng.unit() + 0.001)) as u32).collect();
        let lines: Vec<String> = views.iter().map(|views| line("", rng.below(1 << 20), *views)).collect();
        let (text, starts) = joined(&lines);
        let mut job = Job::new(dev, &RANK, ptx)?;
        let text = job.upload("text", &text)?;
        let starts = job.upload("starts", &starts)?;
        let keys = job.zeros::<u32>("keys", count as usize)?;
        let values = job.zeros::<u32>("values", count as usize)?;
        let ranks = job.zeros::<u32>("ranks", count as usize)?;
        job.launch(
            "rank_map",
            count / BLOCK,
            BLOCK,
            Args::new().ptr(text).ptr(starts).ptr(keys).ptr(values),
        )?;
        sort(&mut job, ["rank_sort_near", "rank_sort_far"], keys, values, count)?;
        job.launch("rank_write", count / BLOCK, BLOCK, Args::new().ptr(values).ptr(ranks))?;
        let found_keys: Vec<u32> = job.download(keys, count as usize)?;
        let found: Vec<u32> = job.download(ranks, count as usize)?;
        job.finish()?;

        let mut pairs: Vec<(u32, u32)> = views.iter().map(|views| u32::MAX - views).zip(0..).collect();
        pairs.sort_unstable();
        let want_keys: Vec<u32> = pairs.iter().map(|pair| pair.0).collect();
        let mut want = vec![0; pairs.len()];
        for (rank, (_, line)) in pairs.iter().enumerate() {
            want[*line as usize] = rank as u32;
        }
        Ok(Check::exact().output("views", &want_keys, &found_keys).output("ranks", &want, &found))
    }
}

/// Sorts pairs by key, then value. The kernels are those for steps within blocks, and beyond.
fn sort(
    job: &mut Job<'_>,
    kernels: [&str; 2],
    keys: DevicePtr,
    values: DevicePtr,
    count: u32,
) -> Result<(), Error> {
    let mut run = 2;
    while run <= count {
        let mut apart = run / 2;
        while apart >= BLOCK {
            let args = Args::new().ptr(keys).ptr(values).u32(run).u32(apart);
            job.launch(kernels[1], count / BLOCK, BLOCK, args)?;
            apart /= 2;
        }
        let args = Args::new().ptr(keys).ptr(values).u32(run).u32(apart);
        job.launch(kernels[0], count / BLOCK, BLOCK, args)?;
        run *= 2;
    }
    Ok(())
}

/// A line that ends with the address of a page and a number. It is put together by hand: there are thousands of them, and formatting takes
/// several times as long.
fn line(start: &str, page: u32, end: u32) -> String {
    const WORDS: [&str; 8] = ["news", "shop", "wiki", "mail", "game", "blog", "item", "user"];
    let mut line = String::with_capacity(64);
    line.push_str(start);
    line.push_str("http://www.");
    line.push_str(WORDS[page as usize % 8]);
    push(&mut line, page % 7);
    line.push_str(".com/");
    line.push_str(WORDS[page as usize / 8 % 8]);
    line.push('/');
    push(&mut line, page);
    line.push(' ');
    push(&mut line, end);
    line.push('\n');
    line
}

/// Adds a number in decimal.
fn push(line: &mut String, number: u32) {
    if number >= 10 {
        push(line, number / 10);
    }
    line.push((b'0' + (number % 10) as u8) as char);
}

/// Lines of address, page and status.
fn log(lines: usize, rng: &mut Rng) -> Vec<String> {
    let mut entry = || {
        let mut address = "10".to_owned();
        for _ in 0..3 {
            address.push('.');
            push(&mut address, rng.below(256));
        }
        address.push(' ');
        let draw = rng.unit();
        let page = (draw * draw * draw * lines as f32 / 4.0) as u32;
        line(&address, page, [200, 200, 304, 404][rng.below(4) as usize])
    };
    (0..lines).map(|_| entry()).collect()
}

/// The text of all lines, and where each begins.
fn joined(lines: &[String]) -> (Vec<u8>, Vec<u32>) {
    let mut starts = Vec::with_capacity(lines.len());
    let mut text = Vec::new();
    for line in lines {
        starts.push(text.len() as u32);
        text.extend_from_slice(line.as_bytes());
    }
    (text, starts)
}

/// Of a line's page.
fn hash(line: &str) -> u32 {
    let page = line.split(' ').nth(1).unwrap_or_default();
    page.bytes().fold(5381u32, |hash, byte| hash.wrapping_mul(33).wrapping_add(u32::from(byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_an_address_a_page_and_a_number() {
        assert_eq!(
            line("10.0.25.255 ", 1_048_575, 404),
            "10.0.25.255 http://www.user3.com/user/1048575 404\n"
        );
        assert_eq!(line("", 10, 0), "http://www.wiki3.com/shop/10 0\n");
    }

    #[test]
    fn a_few_pages_have_most_views() {
        let lines = log(1000, &mut Rng::new(1));
        let mut hashes: Vec<u32> = lines.iter().map(|line| hash(line)).collect();
        hashes.sort_unstable();
        let longest = hashes.chunk_by(|a, b| a == b).map(<[u32]>::len).max();
        assert!(longest > Some(50), "{longest:?}");
    }
}
