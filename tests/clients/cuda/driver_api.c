// SPDX-License-Identifier: MIT OR Apache-2.0
// The driver API from C: a module from a file of PTX and one from text, launches with an array of arguments and with a packed
// buffer, globals, JIT options, what a module that does not load leaves in its log.
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(call)                                                                                                            \
    do {                                                                                                                       \
        CUresult code_ = (call);                                                                                               \
        if (code_ != CUDA_SUCCESS) {                                                                                           \
            const char *name_ = "?";                                                                                           \
            cuGetErrorName(code_, &name_);                                                                                     \
            fprintf(stderr, "%s:%d: %s: %s (%d)\n", __FILE__, __LINE__, #call, name_, (int)code_);                             \
            exit(1);                                                                                                           \
        }                                                                                                                      \
    } while (0)
#define REQUIRE(condition)                                                                                                     \
    do {                                                                                                                       \
        if (!(condition)) {                                                                                                    \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                                            \
            exit(1);                                                                                                           \
        }                                                                                                                      \
    } while (0)

enum { N = 300 };

int main(int count, char **arguments) {
    REQUIRE(count == 2);
    CHECK(cuInit(0));
    int version = 0, devices = 0, major = 0, minor = 0;
    CHECK(cuDriverGetVersion(&version));
    CHECK(cuDeviceGetCount(&devices));
    REQUIRE(version >= 12000 && devices == 1);
    CUdevice device;
    CHECK(cuDeviceGet(&device, 0));
    REQUIRE(cuDeviceGet(&device, 1) == CUDA_ERROR_INVALID_DEVICE);
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device));
    CHECK(cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device));
    char name[64];
    CHECK(cuDeviceGetName(name, sizeof name, device));
    size_t total = 0;
    CHECK(cuDeviceTotalMem(&total, device));
    REQUIRE(total > 0 && major > 0 && name[0]);
    CUcontext context, current;
    CHECK(cuCtxCreate(&context, NULL, 0, device));
    CHECK(cuCtxGetCurrent(&current));
    REQUIRE(current == context);

    // A module from a file.
    CUmodule module;
    CUfunction add;
    CHECK(cuModuleLoad(&module, arguments[1]));
    CHECK(cuModuleGetFunction(&add, module, "add"));
    CUfunction missing;
    REQUIRE(cuModuleGetFunction(&missing, module, "subtract") == CUDA_ERROR_NOT_FOUND);
    int registers = 0;
    CHECK(cuFuncGetAttribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, add));
    REQUIRE(registers > 0);
    CUdeviceptr scale;
    size_t bytes = 0;
    CHECK(cuModuleGetGlobal(&scale, &bytes, module, "scale"));
    REQUIRE(bytes == sizeof(float));
    float two = 2;
    CHECK(cuMemcpyHtoD(scale, &two, sizeof two));

    float a[N], b[N], c[N];
    for (int i = 0; i < N; i++) a[i] = i * 0.5f, b[i] = 1000 - i, c[i] = -1;
    CUdeviceptr da, db, dc;
    CHECK(cuMemAlloc(&da, sizeof a));
    CHECK(cuMemAlloc(&db, sizeof b));
    CHECK(cuMemAlloc(&dc, sizeof c));
    CHECK(cuMemcpyHtoD(da, a, sizeof a));
    CHECK(cuMemcpyHtoD(db, b, sizeof b));
    int n = N;
    void *values[] = {&da, &db, &dc, &n};
    CHECK(cuLaunchKernel(add, (N + 127) / 128, 1, 1, 128, 1, 1, 0, NULL, values, NULL));
    CHECK(cuCtxSynchronize());
    CHECK(cuMemcpyDtoH(c, dc, sizeof c));
    for (int i = 0; i < N; i++) REQUIRE(c[i] == 2 * (a[i] + b[i]));

    // Arguments in one buffer, on a stream, between events.
    CHECK(cuMemsetD32(dc, 0, N));
    struct {
        CUdeviceptr a, b, c;
        int n;
    } packed = {da, db, dc, N};
    size_t size = 28;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
    CUstream stream;
    CUevent start, end;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuEventCreate(&start, CU_EVENT_DEFAULT));
    CHECK(cuEventCreate(&end, CU_EVENT_DEFAULT));
    CHECK(cuEventRecord(start, stream));
    CHECK(cuLaunchKernel(add, (N + 127) / 128, 1, 1, 128, 1, 1, 0, stream, NULL, extra));
    CHECK(cuEventRecord(end, stream));
    CHECK(cuEventSynchronize(end));
    float ms = 0;
    CHECK(cuEventElapsedTime(&ms, start, end));
    REQUIRE(ms > 0);
    memset(c, 0, sizeof c);
    CHECK(cuMemcpyDtoH(c, dc, sizeof c));
    for (int i = 0; i < N; i++) REQUIRE(c[i] == 2 * (a[i] + b[i]));

    // A module from text, and one that is wrong: its log says where.
    const char *text = ".version 7.0\n.target sm_50\n.address_size 64\n.visible .entry nothing() { ret; }\n";
    CUmodule other;
    CUfunction nothing;
    CHECK(cuModuleLoadData(&other, text));
    CHECK(cuModuleGetFunction(&nothing, other, "nothing"));
    CHECK(cuLaunchKernel(nothing, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    CHECK(cuCtxSynchronize());
    CHECK(cuModuleUnload(other));
    char log[512] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *settings[] = {log, (void *)sizeof log};
    const char *wrong = ".version 7.0\n.target sm_50\n.address_size 64\n.globule .u32 x;\n";
    REQUIRE(cuModuleLoadDataEx(&other, wrong, 2, options, settings) == CUDA_ERROR_INVALID_PTX);
    REQUIRE(strstr(log, "globule"));
    // What is wrong inside of a kernel concerns that kernel alone, when it is launched.
    const char *half = ".version 7.0\n.target sm_50\n.address_size 64\n.visible .entry good() { ret; }\n.visible .entry bad() { rat; }\n";
    CUfunction good, bad;
    CHECK(cuModuleLoadData(&other, half));
    CHECK(cuModuleGetFunction(&good, other, "good"));
    CHECK(cuLaunchKernel(good, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    if (cuModuleGetFunction(&bad, other, "bad") == CUDA_SUCCESS)
        REQUIRE(cuLaunchKernel(bad, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL) == CUDA_ERROR_INVALID_PTX);
    CHECK(cuCtxSynchronize());
    CHECK(cuModuleUnload(other));
    REQUIRE(cuModuleLoad(&other, "/nowhere/to/be/found.ptx") == CUDA_ERROR_FILE_NOT_FOUND);
    REQUIRE(cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL) == CUDA_ERROR_INVALID_HANDLE);
    REQUIRE(cuLaunchKernel(add, 1, 1, 1, 4096, 1, 1, 0, NULL, values, NULL) == CUDA_ERROR_INVALID_VALUE);

    CHECK(cuMemFree(da));
    CHECK(cuMemFree(db));
    CHECK(cuMemFree(dc));
    REQUIRE(cuMemFree(dc) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuEventDestroy(start));
    CHECK(cuEventDestroy(end));
    CHECK(cuStreamDestroy(stream));
    CHECK(cuModuleUnload(module));
    CHECK(cuCtxDestroy(context));
    puts("driver_api: all values are right");
    return 0;
}
