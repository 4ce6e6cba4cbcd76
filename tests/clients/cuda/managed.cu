// SPDX-License-Identifier: MIT OR Apache-2.0
// Managed memory: one pointer for host and device, a linked list across both, managed variables, prefetch and advice.
#include "check.h"

struct Node {
    int value;
    Node *next;
};

__managed__ int counter = 5;
__device__ __managed__ float table[32];

__global__ void walk(Node *head, long long *sum) {
    long long s = 0;
    for (Node *n = head; n; n = n->next) {
        s += n->value;
        n->value = -n->value;
    }
    *sum = s;
    counter += 1;
    for (int i = 0; i < 32; i++) table[i] *= 2;
}

int main() {
    Node *head = nullptr;
    for (int i = 1; i <= 100; i++) {
        Node *node;
        CHECK(cudaMallocManaged((void **)&node, sizeof(Node)));
        node->value = i;
        node->next = head;
        head = node;
    }
    long long *sum;
    CHECK(cudaMallocManaged((void **)&sum, sizeof *sum));
    for (int i = 0; i < 32; i++) table[i] = (float)i;
    counter = 41;
    walk<<<1, 1>>>(head, sum);
    CHECK(cudaDeviceSynchronize());
    REQUIRE(*sum == 5050, "%lld", *sum);
    REQUIRE(counter == 42, "%d", counter);
    for (int i = 0; i < 32; i++) REQUIRE(table[i] == 2.0f * i, "%d: %g", i, table[i]);
    int negative = 0;
    for (Node *n = head; n; n = n->next) negative += n->value < 0;
    REQUIRE(negative == 100, "%d", negative);

    cudaPointerAttributes attributes;
    CHECK(cudaPointerGetAttributes(&attributes, sum));
    REQUIRE(attributes.type == cudaMemoryTypeManaged && attributes.devicePointer == sum && attributes.hostPointer == sum);
    cudaMemLocation here = {cudaMemLocationTypeDevice, {0}};
    CHECK(cudaMemPrefetchAsync(sum, sizeof *sum, here, 0, 0));
    CHECK(cudaMemAdvise(sum, sizeof *sum, cudaMemAdviseSetReadMostly, here));
    while (head) {
        Node *next = head->next;
        CHECK(cudaFree(head));
        head = next;
    }
    CHECK(cudaFree(sum));
    puts("managed: host and device saw the same");
    return 0;
}
