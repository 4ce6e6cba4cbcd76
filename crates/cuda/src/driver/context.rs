// SPDX-License-Identifier: MIT OR Apache-2.0
//! Contexts. There is one device, and whatever contexts a program makes share it; what they have of their own is a life, flags, and
//! the stack of each thread. Destroying the last one frees everything that was created on the device.

use std::cell::RefCell;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};

use warpwatt_runtime::Until;

use crate::core::handle::{HandleKind, Table};
use crate::core::launch::CONTEXT_CACHE;
use crate::core::{Code, Result, with_faulted};
use crate::driver::entry::check_initialized;
use crate::driver::{In, Out, api, device, with};

struct Context {
    flags: u32,
    /// `cuCtxAttach` and `cuCtxDetach` count.
    uses: u32,
    number: u64,
}

struct Contexts {
    table: Option<Table<Context>>,
    /// The primary context, which keeps its handle over its lives.
    primary: u64,
    primary_flags: u32,
    retained: u32,
    /// The runtime API uses the primary context.
    by_runtime: bool,
    made: u64,
}

static CONTEXTS: Mutex<Contexts> = Mutex::new(Contexts {
    table: None,
    primary: 0,
    primary_flags: 0,
    retained: 0,
    by_runtime: false,
    made: 0,
});

thread_local! {
    static STACK: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

/// Programs call from destructors too, when the thread has lost its stack already: then it is empty.
fn with_stack<R>(call: impl Fn(&mut Vec<u64>) -> R) -> R {
    STACK.try_with(|stack| call(&mut stack.borrow_mut())).unwrap_or_else(|_| call(&mut Vec::new()))
}

fn contexts() -> MutexGuard<'static, Contexts> {
    let mut contexts = CONTEXTS.lock().unwrap_or_else(PoisonError::into_inner);
    if contexts.table.is_none() {
        let mut table = Table::new(HandleKind::Context);
        contexts.primary = table.insert(Context { flags: 0, uses: 1, number: 1 });
        contexts.made = 1;
        contexts.table = Some(table);
    }
    contexts
}

impl Contexts {
    fn table(&mut self) -> &mut Table<Context> {
        self.table.get_or_insert_with(|| Table::new(HandleKind::Context))
    }

    fn get(&mut self, context: u64) -> Result<&mut Context> {
        if context == self.primary && !self.primary_lives() {
            return Err(Code::CONTEXT_IS_DESTROYED);
        }
        self.table().get_mut(context).map_err(|_| Code::INVALID_CONTEXT)
    }

    fn primary_lives(&self) -> bool {
        self.retained > 0 || self.by_runtime
    }

    fn none_lives(&mut self) -> bool {
        !self.primary_lives() && self.table().len() == 1
    }
}

/// The context that is current in this thread, or 0.
pub fn current() -> u64 {
    with_stack(|stack| stack.last().copied().unwrap_or(0))
}

fn set_current(context: u64) {
    with_stack(|stack| {
        stack.pop();
        if context != 0 {
            stack.push(context);
        }
    });
}

/// Most functions need a context that is current and alive.
pub(crate) fn check_current() -> Result<()> {
    check_initialized()?;
    match current() {
        0 => Err(Code::INVALID_CONTEXT),
        context => contexts().get(context).map(|_| ()),
    }
}

/// For the runtime API, which works in the primary context unless the thread has another one, and needs no `cuInit`.
pub fn enter_primary() -> Result<()> {
    let current = current();
    if current == 0 {
        crate::driver::entry::initialize()?;
    }
    let mut contexts = contexts();
    if current == 0 || current == contexts.primary {
        // It is recreated after a reset.
        contexts.by_runtime = true;
        set_current(contexts.primary);
    }
    Ok(())
}

fn create(context: Out<u64>, flags: u32, device: i32) -> Result<()> {
    check_initialized()?;
    context.check()?;
    device::check(device)?;
    if flags & !0xff != 0 {
        return Err(Code::INVALID_VALUE);
    }
    with_faulted(|core| core.faulted().map_or(Ok(()), Err))?;
    let mut contexts = contexts();
    contexts.made += 1;
    let number = contexts.made;
    let handle = contexts.table().insert(Context { flags, uses: 1, number });
    drop(contexts);
    with_stack(|stack| stack.push(handle));
    context.put(handle)
}

/// Ends a context; with the last one, all that is on the device.
fn destroy(context: u64) -> Result<()> {
    check_initialized()?;
    let mut contexts = contexts();
    if context == contexts.primary {
        return Err(Code::INVALID_CONTEXT);
    }
    contexts.table().remove(context).map_err(|_| Code::INVALID_CONTEXT)?;
    let last = contexts.none_lives();
    drop(contexts);
    if current() == context {
        set_current(0);
    }
    end_of_context(last)
}

fn end_of_context(last: bool) -> Result<()> {
    with_faulted(|core| match (last, core.faulted()) {
        (true, _) => core.reset(),
        (false, Some(_)) => Ok(()),
        (false, None) => core.finish(Until::Everything),
    })
}

fn synchronize() -> Result<()> {
    with(|core| {
        if core.graphs.captures_any() {
            return Err(Code::STREAM_CAPTURE_UNSUPPORTED);
        }
        core.finish(Until::Everything)
    })
}

/// `CUlimit`, of which the heap has an effect; the others are remembered.
const HEAP: u32 = 2;
static LIMITS: Mutex<[u64; 11]> = Mutex::new([1024, 1 << 20, 8 << 20, 2, 2048, 128, 0, 0, 0, 0, 0]);

fn limits() -> MutexGuard<'static, [u64; 11]> {
    LIMITS.lock().unwrap_or_else(PoisonError::into_inner)
}

static CACHE_CONFIG: Mutex<(u32, u32)> = Mutex::new((0, 1));

fn cache_config() -> MutexGuard<'static, (u32, u32)> {
    CACHE_CONFIG.lock().unwrap_or_else(PoisonError::into_inner)
}

api! {
    fn cuDevicePrimaryCtxRetain(context: Out<u64>, device: i32) {
        check_initialized()?;
        context.check()?;
        device::check(device)?;
        let mut contexts = contexts();
        contexts.retained += 1;
        context.put(contexts.primary)
    }

    fn cuDevicePrimaryCtxRelease_v2 [also cuDevicePrimaryCtxRelease] (device: i32) {
        check_initialized()?;
        device::check(device)?;
        let mut contexts = contexts();
        contexts.retained = contexts.retained.checked_sub(1).ok_or(Code::INVALID_CONTEXT)?;
        let (gone, last) = (!contexts.primary_lives(), contexts.none_lives());
        drop(contexts);
        if gone { end_of_context(last) } else { Ok(()) }
    }

    fn cuDevicePrimaryCtxReset_v2 [also cuDevicePrimaryCtxReset] (device: i32) {
        check_initialized()?;
        device::check(device)?;
        let mut contexts = contexts();
        contexts.retained = 0;
        contexts.by_runtime = false;
        contexts.primary_flags = 0;
        let last = contexts.none_lives();
        drop(contexts);
        end_of_context(last)
    }

    fn cuDevicePrimaryCtxSetFlags_v2 [also cuDevicePrimaryCtxSetFlags] (device: i32, flags: u32) {
        check_initialized()?;
        device::check(device)?;
        if flags & !0xff != 0 {
            return Err(Code::INVALID_VALUE);
        }
        contexts().primary_flags = flags;
        Ok(())
    }

    fn cuDevicePrimaryCtxGetState(device: i32, flags: Out<u32>, active: Out<i32>) {
        check_initialized()?;
        device::check(device)?;
        flags.check()?;
        let contexts = contexts();
        flags.put(contexts.primary_flags)?;
        active.put(i32::from(contexts.primary_lives()))
    }

    fn cuCtxCreate_v2 [also cuCtxCreate] (context: Out<u64>, flags: u32, device: i32) {
        create(context, flags, device)
    }

    fn cuCtxCreate_v3(context: Out<u64>, _affinity: In<u64>, count: i32, flags: u32, device: i32) {
        if count > 0 {
            // Parts of the device's SMs are for a server of several processes.
            return Err(Code::NOT_SUPPORTED);
        }
        create(context, flags, device)
    }

    fn cuCtxCreate_v4(context: Out<u64>, params: In<[u64; 3]>, flags: u32, device: i32) {
        if !params.is_null() {
            let [affinity, count, graphics] = params.get()?;
            if (affinity != 0 && count as u32 > 0) || graphics != 0 {
                return Err(Code::NOT_SUPPORTED);
            }
        }
        create(context, flags, device)
    }

    fn cuCtxDestroy_v2 [also cuCtxDestroy] (context: u64) {
        destroy(context)
    }

    fn cuCtxAttach(context: Out<u64>, flags: u32) {
        check_current()?;
        context.check()?;
        if flags != 0 {
            return Err(Code::INVALID_VALUE);
        }
        contexts().get(current())?.uses += 1;
        context.put(current())
    }

    fn cuCtxDetach(context: u64) {
        check_initialized()?;
        let uses = {
            let mut contexts = contexts();
            let of = contexts.get(context)?;
            of.uses -= 1;
            of.uses
        };
        if uses == 0 { destroy(context) } else { Ok(()) }
    }

    fn cuCtxPushCurrent_v2 [also cuCtxPushCurrent] (context: u64) {
        check_initialized()?;
        contexts().get(context)?;
        with_stack(|stack| stack.push(context));
        Ok(())
    }

    fn cuCtxPopCurrent_v2 [also cuCtxPopCurrent] (context: Out<u64>) {
        check_initialized()?;
        let popped = with_stack(|stack| stack.pop()).ok_or(Code::INVALID_CONTEXT)?;
        context.put_if(popped);
        Ok(())
    }

    fn cuCtxSetCurrent(context: u64) {
        check_initialized()?;
        if context != 0 {
            contexts().get(context)?;
        }
        set_current(context);
        Ok(())
    }

    fn cuCtxGetCurrent(context: Out<u64>) {
        check_initialized()?;
        context.put(current())
    }

    fn cuCtxGetDevice(device: Out<i32>) {
        check_current()?;
        device.put(0)
    }

    fn cuCtxGetDevice_v2(device: Out<i32>, context: u64) {
        check_initialized()?;
        contexts().get(if context == 0 { current() } else { context })?;
        device.put(0)
    }

    fn cuCtxGetFlags(flags: Out<u32>) {
        check_current()?;
        flags.check()?;
        let mut contexts = contexts();
        let of = match current() == contexts.primary {
            true => contexts.primary_flags,
            false => contexts.get(current())?.flags,
        };
        flags.put(of)
    }

    fn cuCtxSetFlags(flags: u32) {
        check_current()?;
        if flags & !0xff != 0 {
            return Err(Code::INVALID_VALUE);
        }
        let mut contexts = contexts();
        match current() == contexts.primary {
            true => contexts.primary_flags = flags,
            false => contexts.get(current())?.flags = flags,
        }
        Ok(())
    }

    fn cuCtxGetId(context: u64, number: Out<u64>) {
        check_initialized()?;
        let context = if context == 0 { current() } else { context };
        let of = contexts().get(context)?.number;
        number.put(of)
    }

    fn cuCtxGetApiVersion(context: u64, version: Out<u32>) {
        check_initialized()?;
        contexts().get(if context == 0 { current() } else { context })?;
        version.put(3020)
    }

    fn cuCtxSynchronize() {
        synchronize()
    }

    fn cuCtxSynchronize_v2(context: u64) {
        check_initialized()?;
        contexts().get(if context == 0 { current() } else { context })?;
        synchronize()
    }

    fn cuCtxSetLimit(limit: u32, value: usize) {
        check_current()?;
        let mut limits = limits();
        let slot = limits.get_mut(limit as usize).ok_or(Code::INVALID_VALUE)?;
        if limit == HEAP {
            with(|core| {
                core.device.set_heap_limit(value as u64);
                Ok(())
            })?;
        }
        *slot = value as u64;
        Ok(())
    }

    fn cuCtxGetLimit(value: Out<usize>, limit: u32) {
        check_current()?;
        let of = *limits().get(limit as usize).ok_or(Code::INVALID_VALUE)?;
        let of = if limit == HEAP { with(|core| Ok(core.device.heap_limit()))? } else { of };
        value.put(of as usize)
    }

    fn cuCtxGetCacheConfig(config: Out<u32>) {
        check_current()?;
        config.put(cache_config().0)
    }

    fn cuCtxSetCacheConfig(config: u32) {
        check_current()?;
        if config > 3 {
            return Err(Code::INVALID_VALUE);
        }
        cache_config().0 = config;
        CONTEXT_CACHE.store(config, Ordering::Relaxed);
        Ok(())
    }

    fn cuCtxGetSharedMemConfig(config: Out<u32>) {
        check_current()?;
        config.put(cache_config().1)
    }

    fn cuCtxSetSharedMemConfig(config: u32) {
        check_current()?;
        if config > 2 {
            return Err(Code::INVALID_VALUE);
        }
        cache_config().1 = 1;
        Ok(())
    }

    fn cuCtxGetStreamPriorityRange(least: Out<i32>, greatest: Out<i32>) {
        check_current()?;
        least.put_if(0);
        greatest.put_if(-5);
        Ok(())
    }

    fn cuCtxResetPersistingL2Cache() {
        check_current()
    }

    fn cuCtxGetExecAffinity(affinity: Out<[u32; 2]>, kind: u32) {
        check_current()?;
        if kind != 0 {
            return Err(Code::INVALID_VALUE);
        }
        affinity.put([0, with(|core| Ok(core.limits().sms))?])
    }

    fn cuCtxRecordEvent(context: u64, event: u64) {
        check_initialized()?;
        contexts().get(context)?;
        with(|core| {
            let stream = core.stream(0, false)?;
            core.record(event, stream)
        })
    }

    fn cuCtxWaitEvent(context: u64, event: u64) {
        check_initialized()?;
        contexts().get(context)?;
        with(|core| {
            let stream = core.stream(0, false)?;
            core.wait_event(stream, event)
        })
    }

    fn cuCtxEnablePeerAccess(peer: u64, flags: u32) {
        check_current()?;
        if flags != 0 {
            return Err(Code::INVALID_VALUE);
        }
        contexts().get(peer)?;
        // A context reaches its own device anyway.
        Err(Code::INVALID_DEVICE)
    }

    fn cuCtxDisablePeerAccess(peer: u64) {
        check_current()?;
        contexts().get(peer)?;
        Err(Code::PEER_ACCESS_NOT_ENABLED)
    }
}
