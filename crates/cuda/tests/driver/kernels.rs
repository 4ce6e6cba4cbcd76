// SPDX-License-Identifier: MIT OR Apache-2.0
//! Modules, libraries, links, functions, launches, occupancy.

use std::ffi::CString;

use warpwatt_cuda::abi::driver::{LaunchAttribute, LaunchConfig};
use warpwatt_cuda::driver::context::*;
use warpwatt_cuda::driver::function::*;
use warpwatt_cuda::driver::launch::*;
use warpwatt_cuda::driver::legacy::*;
use warpwatt_cuda::driver::library::*;
use warpwatt_cuda::driver::link::*;
use warpwatt_cuda::driver::memory::*;
use warpwatt_cuda::driver::module::*;
use warpwatt_cuda::driver::occupancy::*;
use warpwatt_cuda::driver::stream::*;
use warpwatt_cuda::driver::{In, Out, Text};

use crate::setup::*;

const INVALID_IMAGE: i32 = 200;
const INVALID_PTX: i32 = 218;
const FILE_NOT_FOUND: i32 = 301;
const ILLEGAL_ADDRESS: i32 = 700;

#[test]
fn functions_are_of_the_architecture_of_their_ptx() {
    let _turn = ready();
    let function = function(module(), c"scale");
    for attribute in [5, 6] {
        let mut value = 0;
        ok(warpwatt_cuda::driver::function::cuFuncGetAttribute(Out::from(&mut value), attribute, function));
        assert_eq!(value, 70, "the text is for sm_70, the device reports 7.5");
    }
}

#[test]
fn a_kernel_runs_with_pointers_to_arguments_and_with_a_packed_block() {
    let _turn = ready();
    let module = module();
    let scale = function(module, c"scale");
    let at = buffer(&[5; 100]);
    ok(launch(scale, 2, 64, 0, &Arguments::new(&[at, 100, 3])));
    assert_eq!(read(at, 100), (0..100).map(|i| 15 + i).collect::<Vec<u32>>());

    let mut block = at.to_le_bytes().to_vec();
    block.extend(100u32.to_le_bytes());
    block.extend(0u32.to_le_bytes());
    let size = block.len();
    let extra = [1, block.as_ptr() as u64, 2, &raw const size as u64, 0];
    ok(cuLaunchKernel(scale, 2, 1, 1, 64, 1, 1, 0, 0, In::NULL, In::first(&extra)));
    assert_eq!(read(at, 100), (0..100).collect::<Vec<u32>>());

    let arguments = Arguments::new(&[at, 100, 3]);
    let both = cuLaunchKernel(scale, 1, 1, 1, 1, 1, 1, 0, 0, arguments.list(), In::first(&extra));
    assert_eq!(both, INVALID_VALUE);
    assert_eq!(cuLaunchKernel(scale, 1, 1, 1, 1, 1, 1, 0, 0, In::NULL, In::NULL), INVALID_VALUE);
    assert_eq!(launch(scale, 0, 64, 0, &arguments), INVALID_VALUE, "an empty grid");
    assert_eq!(launch(scale, 1, 2000, 0, &arguments), INVALID_VALUE, "a block too large");
    assert_eq!(launch(77, 1, 1, 0, &arguments), INVALID_HANDLE);
    assert_eq!(launch(scale, 1, 1, 99, &arguments), INVALID_HANDLE);
    ok(cuModuleUnload(module));
    assert_eq!(launch(scale, 1, 1, 0, &arguments), INVALID_HANDLE, "gone with its module");
    assert_eq!(cuModuleUnload(module), INVALID_HANDLE);
}

#[test]
fn old_launches_keep_their_settings_in_the_function() {
    let _turn = ready();
    let reverse = function(module(), c"reverse");
    let at = buffer(&[1, 2, 3, 4]);
    ok(cuFuncSetBlockShape(reverse, 4, 1, 1));
    ok(cuFuncSetSharedSize(reverse, 16));
    ok(cuParamSetSize(reverse, 8));
    ok(cuParamSetv(reverse, 0, In::at(&raw const at as u64), 8));
    ok(cuLaunchGrid(reverse, 1, 1));
    assert_eq!(read(at, 4), [4, 3, 2, 1]);
    ok(cuParamSeti(reverse, 0, at as u32));
    ok(cuParamSeti(reverse, 4, (at >> 32) as u32));
    ok(cuLaunch(reverse));
    assert_eq!(read(at, 4), [1, 2, 3, 4]);
    assert_eq!(cuFuncSetBlockShape(reverse, 0, 1, 1), INVALID_VALUE);
    assert_eq!(cuFuncSetBlockShape(5, 1, 1, 1), INVALID_HANDLE);
    assert_eq!(cuParamSetv(reverse, -1, In::at(&raw const at as u64), 8), INVALID_VALUE);
}

#[test]
fn launch_attributes_are_read() {
    let _turn = ready();
    let count = function(module(), c"count");
    let mut attributes = [LaunchAttribute { id: 2, ..LaunchAttribute::default() }; 2];
    attributes[0].value[0] = 1;
    attributes[1] = LaunchAttribute { id: 4, ..LaunchAttribute::default() };
    attributes[1].value[..2].copy_from_slice(&[1 | 1 << 32, 1]);
    let mut config = LaunchConfig {
        grid: [2, 1, 1],
        block: [32, 1, 1],
        attributes: attributes.as_ptr() as u64,
        attribute_count: 2,
        ..LaunchConfig::default()
    };
    ok(cuLaunchKernelEx(In::from(&config), count, In::NULL, In::NULL));
    ok(cuLaunchKernelEx_ptsz(In::from(&config), count, In::NULL, In::NULL));
    ok(cuCtxSynchronize());
    config.grid[0] = 1 << 20;
    let code = cuLaunchKernelEx(In::from(&config), count, In::NULL, In::NULL);
    assert_eq!(code, 720, "more cooperative blocks than fit");
    config.grid[0] = 2;
    attributes[1].value[0] = 2 | 1 << 32;
    config.attributes = attributes.as_ptr() as u64;
    assert_eq!(cuLaunchKernelEx(In::from(&config), count, In::NULL, In::NULL), NOT_SUPPORTED);
    assert_eq!(cuLaunchKernelEx(In::NULL, count, In::NULL, In::NULL), INVALID_VALUE);
}

#[test]
fn variables_of_a_module_are_found_and_kept_between_launches() {
    let _turn = ready();
    let module = module();
    let (mut at, mut bytes) = (0, 0);
    ok(cuModuleGetGlobal_v2(Out::from(&mut at), Out::from(&mut bytes), module, Text::from(c"counter")));
    assert_eq!((bytes, read(at, 1)), (4, vec![7]));
    let count = function(module, c"count");
    ok(cuLaunchKernel(count, 3, 1, 1, 32, 1, 1, 0, 0, In::NULL, In::NULL));
    assert_eq!(read(at, 1), [7 + 96]);
    assert_eq!(cuModuleGetGlobal_v2(Out::NULL, Out::NULL, module, Text::from(c"nothing")), NOT_FOUND);
    let mut none = 0;
    assert_eq!(cuModuleGetFunction(Out::from(&mut none), module, Text::from(c"nothing")), NOT_FOUND);
    assert_eq!(cuModuleGetFunction(Out::NULL, module, Text::from(c"count")), INVALID_VALUE);
    assert_eq!(cuModuleGetFunction(Out::from(&mut none), module, Text::NULL), INVALID_VALUE);
    let mut kernels = 0;
    ok(cuModuleGetFunctionCount(Out::from(&mut kernels), module));
    assert_eq!(kernels, 4);
    let mut list = [0; 4];
    ok(cuModuleEnumerateFunctions(Out::from(&mut list[0]), 4, module));
    assert!(list.contains(&count));
}

#[test]
fn a_bad_image_is_refused_with_its_reason_in_the_log() {
    let _turn = ready();
    let text = CString::new(".version 7.0\n.target sm_70\n.address_size 64\n.foo\n").unwrap();
    let mut log = [0u8; 400];
    let numbers = [5, 6];
    let mut values = [log.as_mut_ptr() as u64, 400];
    let mut module = 0;
    let image = In::from(&text.to_bytes()[0]);
    let options = In::first(&numbers);
    let code = cuModuleLoadDataEx(Out::from(&mut module), image, 2, options, Out::from(&mut values[0]));
    assert_eq!(code, INVALID_PTX);
    let written = values[1] as usize;
    assert!(written > 10 && written < 400, "{written}");
    let said = String::from_utf8_lossy(&log[..written]);
    assert!(said.contains("line") || said.contains(".foo"), "{said}");
    assert_eq!(log[written], 0);

    let noise = [0xeeu8; 64];
    assert_eq!(cuModuleLoadData(Out::from(&mut module), In::from(&noise[0])), INVALID_IMAGE);
    assert_eq!(cuModuleLoadData(Out::from(&mut module), In::NULL), INVALID_VALUE);
    assert_eq!(cuModuleLoad(Out::from(&mut module), Text::from(c"/no/such/file.ptx")), FILE_NOT_FOUND);
}

#[test]
fn libraries_are_modules_and_kernels_functions() {
    let _turn = ready();
    let text = CString::new(PTX).unwrap();
    let (mut library, mut kernel, mut function, mut value) = (0, 0, 0, 0);
    let (none, empty) = (In::NULL, Out::NULL);
    let image = In::from(&text.to_bytes()[0]);
    ok(cuLibraryLoadData(Out::from(&mut library), image, none, empty, 0, none, empty, 0));
    ok(cuLibraryGetKernel(Out::from(&mut kernel), library, Text::from(c"scale")));
    ok(cuKernelGetFunction(Out::from(&mut function), kernel));
    for (attribute, least, most) in [(0, 1024, 1024), (1, 0, 0), (2, 0, 0), (3, 0, 0), (4, 4, 64)] {
        ok(cuKernelGetAttribute(Out::from(&mut value), attribute, kernel, 0));
        assert!((least..=most).contains(&value), "attribute {attribute} is {value}");
    }
    let (mut offset, mut size, mut count) = (0, 0, 0);
    ok(cuKernelGetParamInfo(kernel, 2, Out::from(&mut offset), Out::from(&mut size)));
    assert_eq!((offset, size), (12, 4));
    assert_eq!(cuKernelGetParamInfo(kernel, 3, Out::from(&mut offset), Out::NULL), INVALID_VALUE);
    ok(cuFuncGetParamCount(function, Out::from(&mut count)));
    assert_eq!(count, 3);
    let mut name = 0;
    ok(cuKernelGetName(Out::from(&mut name), kernel));
    assert_eq!(Text::at(name).get().unwrap(), "scale");
    let at = buffer(&[1; 8]);
    ok(launch(kernel, 1, 8, 0, &Arguments::new(&[at, 8, 10])));
    assert_eq!(read(at, 8), (10..18).collect::<Vec<u32>>());
    ok(cuLibraryUnload(library));
    assert_eq!(cuLibraryUnload(library), INVALID_HANDLE);
}

#[test]
fn linked_texts_are_one_module() {
    let _turn = ready();
    let caller = ".version 7.0\n.target sm_70\n.address_size 64\n.extern .func (.param .b32 r) twice(.param .b32 a);\n\
        .visible .entry apply(.param .u64 p)\n{\n.reg .b32 %r<3>;\n.reg .b64 %d<2>;\nld.param.u64 %d1, [p];\n\
        ld.global.u32 %r1, [%d1];\n{\n.param .b32 a0;\nst.param.b32 [a0], %r1;\n.param .b32 r0;\n\
        call.uni (r0), twice, (a0);\nld.param.b32 %r2, [r0];\n}\nst.global.u32 [%d1], %r2;\nret;\n}\n";
    let called = ".version 7.0\n.target sm_70\n.address_size 64\n\
        .visible .func (.param .b32 r) twice(.param .b32 a)\n{\n.reg .b32 %r<3>;\nld.param.b32 %r1, [a];\n\
        add.u32 %r2, %r1, %r1;\nst.param.b32 [r], %r2;\nret;\n}\n";
    let (mut link, mut image, mut bytes, mut module) = (0, 0, 0, 0);
    ok(cuLinkCreate_v2(0, In::NULL, Out::NULL, Out::from(&mut link)));
    for (text, name) in [(caller, c"caller"), (called, c"called")] {
        let data = In::from(&text.as_bytes()[0]);
        ok(cuLinkAddData_v2(link, 1, data, text.len(), Text::from(name), 0, In::NULL, Out::NULL));
    }
    ok(cuLinkComplete(link, Out::from(&mut image), Out::from(&mut bytes)));
    ok(cuModuleLoadData(Out::from(&mut module), In::at(image)));
    ok(cuLinkDestroy(link));
    assert_eq!(cuLinkDestroy(link), INVALID_HANDLE);
    let at = buffer(&[21]);
    ok(launch(function(module, c"apply"), 1, 1, 0, &Arguments::new(&[at])));
    assert_eq!(read(at, 1), [42]);

    ok(cuLinkCreate_v2(0, In::NULL, Out::NULL, Out::from(&mut link)));
    assert_eq!(cuLinkComplete(link, Out::from(&mut image), Out::NULL), INVALID_VALUE, "nothing to link");
    let data = In::from(&called.as_bytes()[0]);
    let code = cuLinkAddData_v2(link, 0, data, called.len(), Text::NULL, 0, In::NULL, Out::NULL);
    assert_eq!(code, 209, "machine code");
    ok(cuLinkDestroy(link));
}

#[test]
fn functions_have_attributes_that_can_be_set() {
    let _turn = ready();
    let reverse = function(module(), c"reverse");
    let mut value = 0;
    ok(cuFuncGetAttribute(Out::from(&mut value), 8, reverse));
    assert_eq!(value, 48 << 10);
    ok(cuFuncSetAttribute(reverse, 8, 32 << 10));
    ok(cuFuncGetAttribute(Out::from(&mut value), 8, reverse));
    assert_eq!(value, 32 << 10);
    assert_eq!(cuFuncSetAttribute(reverse, 8, 1 << 20), INVALID_VALUE);
    assert_eq!(cuFuncSetAttribute(reverse, 0, 5), INVALID_VALUE);
    assert_eq!(cuFuncGetAttribute(Out::from(&mut value), 99, reverse), INVALID_VALUE);
    assert_eq!(cuFuncGetAttribute(Out::NULL, 0, reverse), INVALID_VALUE);
    assert_eq!(cuFuncSetCacheConfig(reverse, 4), INVALID_VALUE);
    ok(cuFuncSetCacheConfig(reverse, 2));
}

extern "C" fn four_bytes_a_thread(threads: i32) -> usize {
    4 * threads as usize
}

#[test]
fn occupancy_follows_from_the_limits() {
    let _turn = ready();
    let reverse = function(module(), c"reverse");
    let (mut blocks, mut grid, mut block) = (0, 0, 0);
    let shared = 24 << 10;
    ok(cuOccupancyMaxActiveBlocksPerMultiprocessor(Out::from(&mut blocks), reverse, 64, shared));
    assert_eq!(blocks, 2, "two blocks of half of the shared memory");
    ok(cuOccupancyMaxActiveBlocksPerMultiprocessor(Out::from(&mut blocks), reverse, 192, 0));
    assert_eq!(blocks, 8);
    let callback = four_bytes_a_thread as *const () as u64;
    let (out_grid, out_block) = (Out::from(&mut grid), Out::from(&mut block));
    ok(cuOccupancyMaxPotentialBlockSize(out_grid, out_block, reverse, callback, 0, 0));
    assert_eq!((grid, block), (30, 768), "the largest block that fills 1536 threads");
    let mut room = 0;
    ok(cuOccupancyAvailableDynamicSMemPerBlock(Out::from(&mut room), reverse, 2, 64));
    assert_eq!(room, 24 << 10);
    assert_eq!(
        cuOccupancyMaxActiveBlocksPerMultiprocessor(Out::from(&mut blocks), reverse, 0, 0),
        INVALID_VALUE
    );
    assert_eq!(cuOccupancyMaxActiveBlocksPerMultiprocessor(Out::NULL, reverse, 32, 0), INVALID_VALUE);
    assert_eq!(cuOccupancyMaxActiveBlocksPerMultiprocessor(Out::from(&mut blocks), 3, 32, 0), INVALID_HANDLE);
}

#[test]
fn a_fault_sticks_until_the_context_is_reset() {
    let _turn = ready();
    let poke = function(module(), c"poke");
    ok(launch(poke, 1, 1, 0, &Arguments::new(&[64])));
    assert_eq!(cuCtxSynchronize(), ILLEGAL_ADDRESS);
    let mut at = 0;
    assert_eq!(cuMemAlloc_v2(Out::from(&mut at), 4), ILLEGAL_ADDRESS, "and so does everything after");
    assert_eq!(cuStreamSynchronize(0), ILLEGAL_ADDRESS);
    ok(cuDevicePrimaryCtxReset_v2(0));
    let mut context = 0;
    ok(cuDevicePrimaryCtxRetain(Out::from(&mut context), 0));
    ok(cuCtxSetCurrent(context));
    assert_eq!(launch(poke, 1, 1, 0, &Arguments::new(&[64])), INVALID_HANDLE, "what there was is gone");
    let at = buffer(&[3]);
    ok(launch(function(module(), c"poke"), 1, 1, 0, &Arguments::new(&[at])));
    assert_eq!(read(at, 1), [1]);
}

#[test]
fn a_reset_leaves_libraries_with_variables_as_new() {
    const COUNTER: &std::ffi::CStr = c".version 7.0
.target sm_70
.address_size 64
.global .u32 count = 5;
.visible .entry next(.param .u64 out) {
    .reg .b32 %r<2>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [out];
    ld.global.u32 %r1, [count];
    add.u32 %r1, %r1, 1;
    st.global.u32 [count], %r1;
    st.global.u32 [%rd1], %r1;
    ret;
}
";
    let _turn = ready();
    let (mut library, mut next) = (0, 0);
    let image = In::first(COUNTER.to_bytes_with_nul());
    ok(cuLibraryLoadData(Out::from(&mut library), image, In::NULL, Out::NULL, 0, In::NULL, Out::NULL, 0));
    ok(cuLibraryGetKernel(Out::from(&mut next), library, Text::from(c"next")));
    let scale = function(module(), c"scale");
    for expected in [6, 7] {
        let at = buffer(&[0]);
        ok(launch(next, 1, 1, 0, &Arguments::new(&[at])));
        assert_eq!(read(at, 1), [expected]);
    }
    ok(cuDevicePrimaryCtxReset_v2(0));
    let mut context = 0;
    ok(cuDevicePrimaryCtxRetain(Out::from(&mut context), 0));
    ok(cuCtxSetCurrent(context));
    let at = buffer(&[0]);
    assert_eq!(launch(scale, 1, 1, 0, &Arguments::new(&[at, 1, 3])), INVALID_HANDLE, "a module is gone");
    ok(launch(next, 1, 1, 0, &Arguments::new(&[at])));
    assert_eq!(read(at, 1), [6]);
    ok(cuLibraryUnload(library));
    assert_eq!(launch(next, 1, 1, 0, &Arguments::new(&[at])), INVALID_HANDLE);
}
