// SPDX-License-Identifier: MIT OR Apache-2.0
//! `launch init`: a launch file to start from. Each pointer of a kernel gets a buffer of its own, each number a value; what the types cannot
//! tell is left to the user, with a comment.

use std::fmt::Write;

use warpwatt_runtime::{Device, Error, Nobody, Options, demangle, find_kernel, plain_name};

use crate::args::InitArgs;
use crate::console::{Console, write_result};
use crate::exit::{Exit, Failure};
use crate::job::read_program;

/// Elements of a buffer and value of integers, so that indices below the latter stay inside of the former.
const ELEMENTS: u32 = 1024;
const BLOCK: u32 = 256;

pub fn init(args: &InitArgs, console: &Console) -> Result<Exit, Failure> {
    let refused = |error: Error| Failure::device(&error, console.color);
    let text = read_program(&args.file)?;
    let mut device = Device::with(Options::default(), Box::new(Nobody)).map_err(refused)?;
    let shown = args.file.display().to_string();
    let module = device.load_module(&shown, &text).map_err(refused)?;
    let mut kernels = device.kernels(module).map_err(refused)?;
    if let Some(wanted) = &args.kernel {
        let found = find_kernel(&kernels, wanted).map(str::to_owned).map_err(|alike| {
            let failure = Failure::usage(format!("{shown} has no kernel that only `{wanted}` means"));
            let names =
                if alike.is_empty() { kernels.iter().map(|name| demangle(name)).collect() } else { alike };
            failure.help(format!("its kernels are {}", names.join(", ")))
        })?;
        kernels = vec![found];
    }
    if kernels.is_empty() {
        return Err(Failure::new(Exit::BadInput, format!("{shown} has no kernel")));
    }
    let mut plans = Vec::new();
    for kernel in &kernels {
        let types = device.kernel_param_types(module, kernel).map_err(refused)?;
        let sizes = device.kernel_params(module, kernel).map_err(refused)?;
        plans.push(Plan::new(kernel, &types, &sizes, &kernels));
    }
    let folder = args.out.as_deref().and_then(|out| out.parent()).unwrap_or(std::path::Path::new(""));
    let program = args.file.strip_prefix(folder).unwrap_or(&args.file);
    let written = written(&program.display().to_string(), &plans);
    match &args.out {
        Some(path) => {
            write_result(path, &written, console)?;
            console.note(&format!("`warpwatt run --launch {}` runs it", path.display()));
        }
        None => console.result(&written),
    }
    Ok(Exit::Ok)
}

/// How a kernel is launched.
struct Plan {
    /// The name in the launch file.
    name: String,
    /// The whole name in the source.
    signature: String,
    /// Buffers by name and type of element.
    buffers: Vec<(String, &'static str)>,
    args: Vec<String>,
}

impl Plan {
    fn new(
        kernel: &str,
        types: &[Option<warpwatt_runtime::Ty>],
        sizes: &[(u32, u32)],
        all: &[String],
    ) -> Plan {
        let signature = demangle(kernel);
        let plain = plain_name(kernel);
        let name = if find_kernel(all, &plain).is_ok() { plain.clone() } else { kernel.to_owned() };
        let declared = parameters(&signature);
        let declared =
            if declared.len() == sizes.len() { declared } else { vec![String::new(); sizes.len()] };
        let (mut buffers, mut args) = (Vec::new(), Vec::new());
        for (number, ((_, size), declared)) in sizes.iter().zip(&declared).enumerate() {
            let ty = types.get(number).copied().flatten();
            let is_pointer = declared.ends_with(['*', '&'])
                || (declared.is_empty() && *size == 8 && ty.is_some_and(|ty| !ty.is_float()));
            if is_pointer {
                let buffer = if all.len() == 1 { format!("p{number}") } else { format!("{plain}_p{number}") };
                args.push(format!("\"buf:{buffer}\""));
                buffers.push((buffer, element(declared)));
                continue;
            }
            args.push(match (size, ty) {
                (2, Some(ty)) if ty.is_float() => "{ f16 = 1.0 }".to_owned(),
                (4, Some(ty)) if ty.is_float() => "{ f32 = 1.0 }".to_owned(),
                (8, Some(ty)) if ty.is_float() => "{ f64 = 1.0 }".to_owned(),
                (1, Some(_)) => "{ u8 = 1 }".to_owned(),
                (2, Some(_)) => "{ u16 = 1 }".to_owned(),
                (4, Some(_)) => format!("{{ i32 = {ELEMENTS} }}"),
                (8, Some(_)) => format!("{{ i64 = {ELEMENTS} }}"),
                (size, _) => format!("{{ bytes = {:?} }}", vec![0_u8; *size as usize]),
            });
        }
        Plan { name, signature, buffers, args }
    }
}

/// The parameter types of a demangled name: what stands in its last pair of parentheses, at the top level.
fn parameters(signature: &str) -> Vec<String> {
    let Some(inside) = signature.strip_suffix(')') else { return Vec::new() };
    let (mut depth, mut begin) = (0_i32, None);
    for (at, c) in inside.char_indices().rev() {
        match c {
            ')' | '>' => depth += 1,
            '(' if depth == 0 => {
                begin = Some(at + 1);
                break;
            }
            '(' | '<' => depth -= 1,
            _ => {}
        }
    }
    let Some(inside) = begin.map(|begin| &inside[begin..]) else { return Vec::new() };
    let (mut found, mut depth, mut from) = (Vec::new(), 0_i32, 0);
    for (at, c) in inside.char_indices() {
        match c {
            '(' | '<' => depth += 1,
            ')' | '>' => depth -= 1,
            ',' if depth == 0 => {
                found.push(inside[from..at].trim().to_owned());
                from = at + 1;
            }
            _ => {}
        }
    }
    let last = inside[from..].trim();
    if !last.is_empty() && last != "void" {
        found.push(last.to_owned());
    }
    found
}

/// The element type of a pointer.
fn element(pointer: &str) -> &'static str {
    let to = pointer.trim_end_matches(['*', '&', ' ']).replace("const", "").replace("volatile", "");
    match to.trim() {
        "float" | "" => "f32",
        "double" => "f64",
        "__half" | "half" => "f16",
        "__nv_bfloat16" => "bf16",
        "char" | "signed char" => "i8",
        "unsigned char" | "bool" | "void" => "u8",
        "short" => "i16",
        "unsigned short" => "u16",
        "int" => "i32",
        "unsigned int" => "u32",
        "long" | "long long" => "i64",
        "unsigned long" | "unsigned long long" => "u64",
        "float2" | "float3" | "float4" => "f32",
        "int2" | "int3" | "int4" => "i32",
        "uint2" | "uint3" | "uint4" => "u32",
        _ => "u32",
    }
}

fn written(program: &str, plans: &[Plan]) -> String {
    let mut out = format!(
        "# A launch file to start from: edit buffers, values, grid and block to suit the kernels.\n\
         # docs/launch-file.md describes all keys; `warpwatt schema launch` is their schema.\n\
         ptx = {}\n",
        toml::Value::from(program)
    );
    for plan in plans {
        for (buffer, element) in &plan.buffers {
            let _ = write!(
                out,
                "\n[[buffer]]\nname = \"{buffer}\"\ntype = \"{element}\"\ncount = {ELEMENTS}\n\
                 # contents: fill = 1, values = [1, 2], iota = {{ start = 0, step = 1 }}, random = {{ seed = 1, lo = 0, hi = 1 }} or file = \"x.bin\"\n"
            );
        }
    }
    for plan in plans {
        let _ = write!(
            out,
            "\n# {}\n[[step]]\nlaunch = {}\ngrid = {}\nblock = {BLOCK}\nargs = [{}]\n",
            plan.signature,
            toml::Value::from(plan.name.as_str()),
            ELEMENTS / BLOCK,
            plan.args.join(", ")
        );
    }
    if let Some((buffer, _)) = plans.iter().flat_map(|plan| &plan.buffers).last() {
        let _ = write!(
            out,
            "\n# A comparison makes the run check its result; the exit code is 1 if it differs.\n\
             # [[step]]\n# compare = \"{buffer}\"\n# fill = 0\n"
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameter_types_are_those_of_the_signature() {
        let of = |signature: &str| parameters(signature);
        assert_eq!(of("saxpy(int, float, float const*, float*)"), ["int", "float", "float const*", "float*"]);
        assert_eq!(of("void k<std::pair<int, float>, (Op)2>(Box<int, 3>, char*)"), ["Box<int, 3>", "char*"]);
        assert_eq!(of("k(void (*)(int, int), int)"), ["void (*)(int, int)", "int"]);
        assert!(of("k()").is_empty() && of("k").is_empty() && of("k(void)").is_empty());
    }

    #[test]
    fn elements_of_pointers() {
        for (pointer, expected) in [
            ("float const*", "f32"),
            ("unsigned char*", "u8"),
            ("int*", "i32"),
            ("Node*", "u32"),
            ("double const&", "f64"),
        ] {
            assert_eq!(element(pointer), expected, "{pointer}");
        }
    }
}
