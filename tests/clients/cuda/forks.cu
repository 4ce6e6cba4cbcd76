// SPDX-License-Identifier: MIT OR Apache-2.0
// Processes. `forks before`: two children, each with a device of its own, since nobody used one before the fork.
// `forks after`: the child of a process that has a device cannot use it, and is told so: error 3.
#include "check.h"
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>

__global__ void fill(int *p, int value) { p[threadIdx.x] = value; }

static void use(int value) {
    Buffer<int> buffer(32);
    fill<<<1, 32>>>(buffer.data, value);
    CHECK(cudaGetLastError());
    for (int x : buffer.read()) REQUIRE(x == value, "%d", x);
}

static void wait_for(pid_t child) {
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %x", status);
}

int main(int count, char **arguments) {
    bool after = count > 1 && !strcmp(arguments[1], "after");
    if (after) use(1);
    pid_t children[2];
    for (int k = 0; k < 2; k++) {
        fflush(stdout);
        children[k] = fork();
        if (children[k] == 0) {
            if (after) {
                int *p;
                EXPECT(cudaErrorInitializationError, cudaMalloc((void **)&p, 4));
            } else {
                use(10 + k);
            }
            exit(0);
        }
        wait_for(children[k]);
    }
    if (after) use(2);
    puts(after ? "forks: children were refused, the parent went on" : "forks: children had devices of their own");
    return 0;
}
