// SPDX-License-Identifier: MIT OR Apache-2.0
// A CUDA program that any C compiler compiles: it loads the driver when it runs, launches the kernel `store` of the PTX file that it is
// given, and prints the last of the values that the kernel stored.
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

#define COUNT 1000
#define BLOCK 128

static void *driver;

#define CALL(name, parameters, ...)                                                   \
    do {                                                                              \
        int(*function) parameters = (int(*) parameters)dlsym(driver, name);           \
        int error = function ? function(__VA_ARGS__) : -1;                            \
        if (error != 0) return fprintf(stderr, "%s: error %d\n", name, error), 1;     \
    } while (0)

int main(int count, char **arguments) {
    if (count != 2 || !(driver = dlopen("libcuda.so.1", RTLD_NOW)))
        return fprintf(stderr, "store: a PTX file and libcuda.so.1 are needed\n"), 1;
    int device;
    void *context, *module, *kernel;
    uint64_t out;
    uint32_t n = COUNT, value = 7, values[COUNT];
    void *parameters[] = {&out, &n, &value};
    CALL("cuInit", (unsigned), 0);
    CALL("cuDeviceGet", (int *, int), &device, 0);
    CALL("cuCtxCreate_v2", (void **, unsigned, int), &context, 0, device);
    CALL("cuModuleLoad", (void **, const char *), &module, arguments[1]);
    CALL("cuModuleGetFunction", (void **, void *, const char *), &kernel, module, "store");
    CALL("cuMemAlloc_v2", (uint64_t *, size_t), &out, sizeof values);
    CALL("cuLaunchKernel",
         (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **),
         kernel, (COUNT + BLOCK - 1) / BLOCK, 1, 1, BLOCK, 1, 1, 0, NULL, parameters, NULL);
    CALL("cuMemcpyDtoH_v2", (void *, uint64_t, size_t), values, out, sizeof values);
    printf("%u\n", values[COUNT - 1]);
    return 0;
}
