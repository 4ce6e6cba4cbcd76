// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arrays, textures, surfaces, references.

use std::ffi::CString;

use warpwatt_cuda::abi::driver::{Array3dDescriptor, ArrayDescriptor, Memcpy2d, ResourceDesc, TextureDesc};
use warpwatt_cuda::driver::array::*;
use warpwatt_cuda::driver::copy::*;
use warpwatt_cuda::driver::module::*;
use warpwatt_cuda::driver::texture::*;
use warpwatt_cuda::driver::texture_reference::*;
use warpwatt_cuda::driver::{In, Out, Text};

use crate::setup::*;

const FLOAT: u32 = 0x20;

const FETCH: &str = r#"
.version 7.0
.target sm_70
.address_size 64
.visible .global .texref image;
.visible .entry by_object(.param .u64 out, .param .u64 texture)
{
    .reg .f32 %f<8>;
    .reg .b32 %r<4>;
    .reg .b64 %d<4>;
    ld.param.u64 %d1, [out];
    ld.param.u64 %d2, [texture];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %tid.y;
    cvt.rn.f32.u32 %f1, %r1;
    cvt.rn.f32.u32 %f2, %r2;
    tex.2d.v4.f32.f32 {%f3, %f4, %f5, %f6}, [%d2, {%f1, %f2}];
    mov.u32 %r3, %ntid.x;
    mad.lo.u32 %r1, %r2, %r3, %r1;
    mul.wide.u32 %d3, %r1, 4;
    add.u64 %d1, %d1, %d3;
    st.global.f32 [%d1], %f3;
    ret;
}
.visible .entry by_reference(.param .u64 out)
{
    .reg .f32 %f<8>;
    .reg .b32 %r<2>;
    .reg .b64 %d<3>;
    ld.param.u64 %d1, [out];
    mov.u32 %r1, %tid.x;
    tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [image, {%r1}];
    mul.wide.u32 %d2, %r1, 4;
    add.u64 %d1, %d1, %d2;
    st.global.f32 [%d1], %f1;
    ret;
}
"#;

fn fetching() -> u64 {
    let text = CString::new(FETCH).unwrap();
    let mut module = 0;
    ok(cuModuleLoadData(Out::from(&mut module), In::from(&text.to_bytes()[0])));
    module
}

fn array(width: u64, height: u64) -> u64 {
    let mut array = 0;
    let descriptor = ArrayDescriptor { width, height, format: FLOAT, channels: 1 };
    ok(cuArrayCreate_v2(Out::from(&mut array), In::from(&descriptor)));
    array
}

fn resource(kind: u32, at: u64) -> ResourceDesc {
    ResourceDesc {
        kind,
        at,
        format: FLOAT,
        channels: 1,
        size: 0,
        height: 0,
        pitch: 0,
        reserved: [0; 11],
        flags: 0,
    }
}

#[test]
fn a_texture_object_shows_an_array() {
    let _turn = ready();
    let (array, words) = (array(4, 2), [1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
    let copy = Memcpy2d {
        src_type: 1,
        src_host: words.as_ptr() as u64,
        src_pitch: 16,
        dst_type: 3,
        dst_array: array,
        width: 16,
        height: 2,
        ..Memcpy2d::default()
    };
    ok(cuMemcpy2D_v2(In::from(&copy)));
    assert_eq!(cuMemcpy2D_v2(In::from(&Memcpy2d { height: 3, ..copy })), INVALID_VALUE, "below its last row");
    let (mut object, texture) = (0, TextureDesc { address_mode: [1; 3], ..TextureDesc::default() });
    let of = resource(0, array);
    ok(cuTexObjectCreate(Out::from(&mut object), In::from(&of), In::from(&texture), In::NULL));
    let out = buffer(&[0; 8]);
    let kernel = function(fetching(), c"by_object");
    let arguments = Arguments::new(&[out, object]);
    ok(warpwatt_cuda::driver::launch::cuLaunchKernel(
        kernel,
        1,
        1,
        1,
        4,
        2,
        1,
        0,
        0,
        arguments.list(),
        In::NULL,
    ));
    assert_eq!(read(out, 8), words.map(f32::to_bits));
    let (mut back, mut said) = (of, texture);
    ok(cuTexObjectGetResourceDesc(Out::from(&mut back), object));
    ok(cuTexObjectGetTextureDesc(Out::from(&mut said), object));
    assert_eq!((back.kind, back.at, said.address_mode), (0, array, [1; 3]));
    ok(cuTexObjectDestroy(object));
    assert_eq!(cuTexObjectDestroy(object), INVALID_VALUE);
    let wrong = resource(9, array);
    let (out, none) = (Out::from(&mut object), In::NULL);
    assert_eq!(cuTexObjectCreate(out, In::from(&wrong), In::from(&texture), none), INVALID_VALUE);
    assert_eq!(cuTexObjectCreate(out, In::NULL, In::from(&texture), none), INVALID_VALUE);
    assert_eq!(cuTexObjectCreate(out, In::from(&resource(0, 5)), In::from(&texture), none), INVALID_HANDLE);
    ok(cuArrayDestroy(array));
    assert_eq!(cuArrayDestroy(array), INVALID_HANDLE);
}

#[test]
fn a_texture_reference_shows_linear_memory() {
    let _turn = ready();
    let words = [1.5f32, 2.5, 3.5, 4.5].map(f32::to_bits);
    let (at, out) = (buffer(&words), buffer(&[0; 4]));
    let module = fetching();
    let (mut reference, mut back) = (0, 0);
    ok(cuModuleGetTexRef(Out::from(&mut reference), module, Text::from(c"image")));
    assert_eq!(cuModuleGetTexRef(Out::from(&mut back), module, Text::from(c"nothing")), NOT_FOUND);
    ok(cuTexRefSetFormat(reference, FLOAT, 1));
    ok(cuTexRefSetAddress_v2(Out::NULL, reference, at, 16));
    ok(cuTexRefGetAddress_v2(Out::from(&mut back), reference));
    assert_eq!(back, at);
    ok(launch(function(module, c"by_reference"), 1, 4, 0, &Arguments::new(&[out])));
    assert_eq!(read(out, 4), words);
    assert_eq!(cuTexRefSetAddressMode(reference, 5, 1), INVALID_VALUE);
    assert_eq!(cuTexRefSetFilterMode(reference, 5), INVALID_VALUE);
    assert_eq!(cuTexRefSetFilterMode(3, 1), INVALID_HANDLE);
    assert_eq!(cuTexRefGetArray(Out::from(&mut back), reference), INVALID_VALUE);
}

#[test]
fn arrays_describe_themselves_and_their_levels() {
    let _turn = ready();
    let (mut mipmap, mut level) = (0, 0);
    let of = Array3dDescriptor { width: 16, height: 8, depth: 0, format: FLOAT, channels: 2, flags: 0 };
    ok(cuMipmappedArrayCreate(Out::from(&mut mipmap), In::from(&of), 3));
    ok(cuMipmappedArrayGetLevel(Out::from(&mut level), mipmap, 1));
    let mut said = of;
    ok(cuArray3DGetDescriptor_v2(Out::from(&mut said), level));
    assert_eq!(said, Array3dDescriptor { width: 8, height: 4, ..of });
    assert_eq!(cuMipmappedArrayGetLevel(Out::from(&mut level), mipmap, 3), INVALID_VALUE);
    assert_eq!(cuArrayDestroy(level), INVALID_VALUE, "a level goes with its array");
    ok(cuMipmappedArrayDestroy(mipmap));
    assert_eq!(cuArray3DGetDescriptor_v2(Out::from(&mut said), level), INVALID_HANDLE);
    let mut array = 0;
    for wrong in [
        Array3dDescriptor { width: 0, ..of },
        Array3dDescriptor { channels: 3, ..of },
        Array3dDescriptor { format: 0x77, ..of },
    ] {
        assert_eq!(cuArray3DCreate_v2(Out::from(&mut array), In::from(&wrong)), INVALID_VALUE, "{wrong:?}");
    }
    assert_eq!(cuArray3DCreate_v2(Out::NULL, In::from(&of)), INVALID_VALUE);
}

#[test]
fn a_surface_object_needs_an_array() {
    let _turn = ready();
    let (mut object, of) = (0, resource(0, array(4, 4)));
    ok(cuSurfObjectCreate(Out::from(&mut object), In::from(&of)));
    let mut back = resource(3, 0);
    ok(cuSurfObjectGetResourceDesc(Out::from(&mut back), object));
    assert_eq!((back.kind, back.at), (0, of.at));
    ok(cuSurfObjectDestroy(object));
    let linear = ResourceDesc { size: 16, ..resource(2, buffer(&[0; 4])) };
    assert_eq!(cuSurfObjectCreate(Out::from(&mut object), In::from(&linear)), INVALID_VALUE);
}
